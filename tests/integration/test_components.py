"""Tests of the components of the manifests in every order."""

from collections.abc import Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.lib.manifests import MANIFESTS, KustomizeError, build_with, in_no_order, one
from tests.support.document_commands import blocks, section

pytestmark = pytest.mark.slow
MARKS: Final = {
    "backup": "--keep=",
    "cert-manager": "--no-manage-serving-secret",
    "cert-manager-etcd": "--peer-client-cert-auth",
    "crd-dir": "--crd-dir=",
    "existing-etcd": '"apiext.dev/store": "existing-etcd"',
    "host-etcd": "--host-etcd-servers=",
    "monitoring": "PrometheusRule",
    "sqlite": "--data-dir=",
    "workers": "--workers=",
}
"""The objects or values that only a component adds."""
_STORES: Final = {"cert-manager-etcd", "existing-etcd", "sqlite"}
"""Components of which an installation can have one only."""
_WITH_ETCD: Final = {"backup", "workers"}
"""Components that need etcd."""
TRIPLES: Final = [
    ("backup", "cert-manager", "cert-manager-etcd"),
    ("backup", "existing-etcd", "monitoring"),
    ("backup", "host-etcd", "workers"),
    ("cert-manager", "monitoring", "sqlite"),
]


def _works(components: Sequence[str]) -> bool:
    """Return whether components go together in this order: one store, etcd for what needs it, and the backup before the store."""
    stores = [components.index(name) for name in components if name in _STORES]
    if len(stores) > 1 or ("sqlite" in components and _WITH_ETCD.intersection(components)):
        return False
    return "backup" not in components or not stores or components.index("backup") < stores[0]


@pytest.mark.parametrize("components", [*combinations(MARKS, 2), *TRIPLES], ids="+".join)
def test_every_order_is_right_or_refused(components: tuple[str, ...], tmp_path: Path) -> None:
    """Build the same objects, with the additions of all components, in each order that works, and fail with a reason in the others."""
    built, reasons = {}, list[str]()
    for order in permutations(components):
        try:
            built[order] = build_with(order, tmp_path)
        except KustomizeError as error:
            reasons.append(str(error))
    texts = {in_no_order(documents) for documents in built.values()}

    assert built.keys() == {order for order in permutations(components) if _works(order)}
    assert [reason for reason in reasons if not any(f"testing value /{name} " in reason for name in components)] == []
    assert len(texts) == bool(built)
    assert [name for name in components for text in texts if MARKS[name] not in text] == []


def test_the_runbook_can_be_elsewhere(tmp_path: Path) -> None:
    """Lead alerts to another place by the replacement in the README."""
    (block,) = (text for text in blocks(section("manifests/README.md", "Monitoring"), "yaml") if "replacements" in text)
    found = build_with(["monitoring"], tmp_path, **yaml.safe_load(block))
    rules = [rule for group in one(found, "PrometheusRule", "apiext")["spec"]["groups"] for rule in group["rules"]]

    assert {rule["annotations"]["runbook_url"] for rule in rules} == {
        f"https://wiki.example.com/apiext/RUNBOOK.md#{rule['alert'].lower()}" for rule in rules
    }


def test_every_component_is_tested() -> None:
    """Cover each component in the table."""
    assert {path.name for path in (MANIFESTS / "components").iterdir()} == MARKS.keys()
