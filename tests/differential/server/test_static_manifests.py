"""Policies from files, which both servers load from the same folder."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.differential.helpers.differences import compared

pytestmark = pytest.mark.slow

ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
V1: Final = {"apiVersion": "admissionregistration.k8s.io/v1"}
CONFIG: Final = {"apiVersion": "apiserver.config.k8s.io/v1"}
MAPS: Final = "/api/v1/namespaces/default/configmaps"


def _policy(name: str, group: str, resource: str) -> dict[str, Any]:
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}
    expression = "!object.metadata.name.startsWith('refused')"
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    return {**V1, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def _binding(name: str) -> dict[str, Any]:
    spec = {"policyName": name, "validationActions": ["Deny"]}
    return {**V1, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def static(tmp_path: Path) -> Iterator[Pair]:
    """Start both servers with the same files."""
    folder = tmp_path / "policies"
    folder.mkdir()
    documents = [
        *(_policy("maps.static.k8s.io", "", "configmaps"), _binding("maps.static.k8s.io")),
        *(_policy("own.static.k8s.io", "admissionregistration.k8s.io", "*"), _binding("own.static.k8s.io")),
    ]
    (folder / "a.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    kind = "ValidatingAdmissionPolicyConfiguration"
    plugins = [{"name": "ValidatingAdmissionPolicy", "configuration": {**CONFIG, "kind": kind, "staticManifestsDir": str(folder)}}]
    file = tmp_path / "admission.yaml"
    file.write_text(json.dumps({**CONFIG, "kind": "AdmissionConfiguration", "plugins": plugins}))
    flags = (f"--admission-control-config-file={file}",)
    with (
        ControlPlane(tmp_path / "reference", durable=False, extra_args=flags) as reference,
        BareServer(tmp_path / "apiext", extra_args=flags) as server,
        closing(Pair(reference, server)) as pair,
    ):
        yield pair


def _reloads(side: Side) -> list[str]:
    """Return the samples about the files without the server's identity and times."""
    text = side.raw(Step("GET", "/metrics"))[1].decode()
    lines = re.findall(r"^(?:# TYPE )?apiserver_manifest_admission_config_controller.*", text, re.MULTILINE)
    masked = (re.sub(r'apiserver_id_hash="sha256:[0-9a-f]{64}"', "ID", line) for line in lines)
    return sorted(re.sub(r"(seconds\{.*\}) .*", r"\1 TIME", line).removesuffix(".0") for line in masked)


def test_policies_of_files(static: Pair) -> None:
    """Refuse the same writes, those of policies and webhook configurations included, and show nothing in the API."""
    for side in (static.reference, static.ours):
        until(lambda side=side: side.raw(Step("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "fine"}}))[0].status == 201)  # type: ignore[misc]
    collections = [f"{ADMISSION}/{kind}" for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings")]
    own = {"validatingadmissionpolicies": _policy, "validatingadmissionpolicybindings": lambda name, *_: _binding(name)}
    compared(
        static,
        [
            Step("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "refused"}}),
            Step("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "accepted"}}),
            *(Step("POST", f"{path}?dryRun=All", own[path.rpartition("/")[2]]("refused", "", "x")) for path in collections),
            *(Step("POST", f"{path}?dryRun=All", own[path.rpartition("/")[2]]("accepted", "", "x")) for path in collections),
            Step("POST", f"{ADMISSION}/validatingwebhookconfigurations?dryRun=All", {"metadata": {"name": "refused"}}),
            Step("POST", f"{ADMISSION}/validatingwebhookconfigurations?dryRun=All", {"metadata": {"name": "accepted"}}),
            *(Step("GET", path) for path in collections),
        ],
    )
    assert _reloads(static.ours) == _reloads(static.reference)
