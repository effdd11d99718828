"""Tests of ServiceAccounts against the reference: defaults, validation, warnings, and the life of an object."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.kind_steps import creations, life, metadata_steps
from tests.differential.helpers.write_steps import MERGE, STRATEGIC, applied

pytestmark = pytest.mark.slow

COLLECTION: Final = "/api/v1/namespaces/default/serviceaccounts"
ACCOUNT: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "kept"}}
ENFORCED: Final = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
MEMBERS: Final[tuple[dict[str, Any], ...]] = (
    {"secrets": []},
    {"secrets": [{"name": "a", "namespace": "b", "uid": "c", "kind": "Secret"}, {"namespace": "x"}, {}]},
    {"secrets": [{"name": "a"}, {"name": "a"}]},
    {"secrets": None, "imagePullSecrets": None, "automountServiceAccountToken": None},
    {"imagePullSecrets": []},
    {"imagePullSecrets": [{"name": "A_"}, {"name": "A_"}, {}]},
    {"automountServiceAccountToken": False},
    {"automountServiceAccountToken": True, "unknown": 1},
)
MALFORMED: Final[tuple[dict[str, Any], ...]] = (
    {"automountServiceAccountToken": "yes"},
    {"secrets": {"name": "a"}},
    {"secrets": ["a"]},
    {"imagePullSecrets": [{"name": 1}]},
)
ONE: Final = f"{COLLECTION}/merged"
SEQUENCES: Final[dict[str, list[Step]]] = {
    "service accounts": [
        *metadata_steps(COLLECTION, ACCOUNT),
        *creations(COLLECTION, ACCOUNT, [*MEMBERS, *MALFORMED]),
        *life(COLLECTION, ACCOUNT | {"secrets": [{"name": "s"}]}, MEMBERS, ("metadata.namespace%3Ddefault", "secrets%3Dx")),
        Step("PATCH", f"{COLLECTION}/none", {}, MERGE),
    ],
    "warnings": [
        Step("POST", COLLECTION, ACCOUNT | {"metadata": {"name": "warned"} | ENFORCED}),
        Step("PATCH", f"{COLLECTION}/warned", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        Step("PATCH", f"{COLLECTION}/warned", {"metadata": {"annotations": None}}, MERGE),
        Step("PATCH", f"{COLLECTION}/warned", {"metadata": ENFORCED}, MERGE),
        Step("DELETE", f"{COLLECTION}/warned"),
    ],
    "merged secrets": [
        Step("POST", COLLECTION, ACCOUNT | {"metadata": {"name": "merged"}, "secrets": [{"name": "a"}, {"name": "b"}]}),
        Step("PATCH", ONE, {"secrets": [{"name": "c"}, {"name": "a", "$patch": "delete"}]}, STRATEGIC),
        Step("PATCH", ONE, {"secrets": [{"kind": "x"}]}, STRATEGIC),
        Step("PATCH", ONE, {"imagePullSecrets": [{"name": "a"}]}, STRATEGIC),
        Step("PATCH", ONE, {"imagePullSecrets": [{"name": "b"}]}, STRATEGIC),
        applied(ONE, ACCOUNT | {"metadata": {"name": "merged"}, "secrets": [{"name": "d"}], "imagePullSecrets": [{"name": "d"}]}),
        applied(ONE, ACCOUNT | {"metadata": {"name": "merged"}, "secrets": [{"name": "e"}]}, "fieldManager=x&force=true"),
        applied(ONE, ACCOUNT | {"metadata": {"name": "merged"}, "secrets": [{"name": "f"}, {"name": "f"}]}, "fieldManager=x&force=true"),
        applied(ONE, ACCOUNT | {"metadata": {"name": "merged"}, "secrets": [{"kind": "f"}]}, "fieldManager=x&force=true"),
        Step("GET", ONE),
        Step("DELETE", ONE),
    ],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(pair: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    compared(pair, SEQUENCES[name])
