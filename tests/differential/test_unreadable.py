"""Tests of unreadable objects: errors, and unsafe deletion."""

import json
import re
from collections.abc import Iterator
from typing import Final

import pytest

from hack.lib.differential.pair import Answer, Pair, Step
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import gateway
from tests.differential.cases.deletion_steps import GROUP, IGNORE, NOTES, crd, note

pytestmark = pytest.mark.slow

PREFIX: Final = "/apiext-deletion"
ONE: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/notes.{GROUP}"
_REVISION: Final = re.compile(r"revision=\d+")
UNREADABLE: Final = {"kindless": b'{"a":1}', "other": f'{{"apiVersion":"{GROUP}/v9","kind":"Note","metadata":{{}}}}'.encode()}


@pytest.fixture
def both(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start the reference, and apiext on the reference's etcd with its own prefix."""
    folder = tmp_path_factory.mktemp("apiext-on-etcd")
    with ApiextServer(folder, etcd_url=control_plane.etcd_url, etcd_prefix=PREFIX) as server:
        servers = Pair(control_plane, server)
        yield servers
        servers.close()


def _store_unreadable(control_plane: ControlPlane) -> None:
    """Store unreadable objects directly in etcd."""
    for prefix in (control_plane.etcd_prefix, PREFIX):
        for name, data in UNREADABLE.items():
            gateway(control_plane.etcd_url, "kv/put", key=f"{prefix}/{GROUP}/notes/default/{name}".encode(), value=data)


def _unreadable_steps(name: str) -> list[Step]:
    one = f"{NOTES}/{name}"
    return [
        Step("GET", one),
        Step("DELETE", one),
        Step("DELETE", f"{one}?dryRun=All"),
        Step("PATCH", one, {"spec": {"a": "x"}}),
        Step("PUT", one, note(name)),
        Step("POST", NOTES, note(name)),
        Step("DELETE", one, {IGNORE: True, "dryRun": ["All"]}),
        Step("DELETE", one, {IGNORE: True, "gracePeriodSeconds": 1}),
        Step("DELETE", f"{one}?{IGNORE}=true"),
        Step("DELETE", one, {IGNORE: True}),
        Step("GET", one),
        Step("POST", NOTES, note(name)),
        Step("DELETE", one, {IGNORE: True}),
    ]


def _comparable(answer: Answer) -> tuple[int, str]:
    """Return a response without keys and revisions, which differ between the stores."""
    text = json.dumps(answer.body, sort_keys=True).replace(f"{PREFIX}/", "/registry/")
    return answer.code, _REVISION.sub("revision=*", text)


def _differing(pair: Pair, steps: list[Step]) -> list[str]:
    """Return the differences of the responses without keys and revisions."""
    answers = [(step, _comparable(pair.reference.ask(step)), _comparable(pair.ours.ask(step))) for step in steps]
    return [f"{step}\n    reference: {one}\n    apiext:    {other}" for step, one, other in answers if one != other]


def test_version_removed(pair: Pair) -> None:
    """Fail to read objects of a version that the definition lost; create new ones, and delete the old ones."""
    served = crd("notes", "Note")
    served["spec"]["versions"].append(served["spec"]["versions"][0] | {"name": "v2", "storage": False})
    swap = [{"op": "replace", "path": f"/spec/versions/{index}/storage", "value": bool(index)} for index in (0, 1)]
    remove = Step("PATCH", ONE, [{"op": "remove", "path": "/spec/versions/0"}], {"Content-Type": "application/json-patch+json"})
    later = NOTES.replace("/v1/", "/v2/")
    before = [
        Step("POST", NOTES, note("a")),
        Step("POST", NOTES, note("b", "example.com/x")),
        Step("PATCH", ONE, swap, {"Content-Type": "application/json-patch+json"}),
        remove,
        Step("PATCH", f"{ONE}/status", {"status": {"storedVersions": ["v2"]}}),
        remove,
        Step("GET", NOTES, retry=True, until="404 page not found"),
    ]
    steps = [
        *(Step("GET", f"{later}/{name}") for name in ("a", "b")),
        Step("PATCH", f"{later}/a", {"metadata": {"labels": {"a": "b"}}}),
        Step("PUT", f"{later}/a", note("a") | {"apiVersion": f"{GROUP}/v2"}),
        Step("DELETE", f"{later}/b"),
        Step("POST", later, note("new") | {"apiVersion": f"{GROUP}/v2"}),
        Step("DELETE", later),
        *(Step("DELETE", f"{later}/{name}", {IGNORE: True}) for name in ("a", "b", "new")),
        Step("DELETE", f"{later}/new"),
    ]
    with pair.served(served):
        found = [line for step in before for line in pair.differences(step)] + _differing(pair, steps)

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


def test_unreadable(both: Pair, control_plane: ControlPlane) -> None:
    """Report unreadable objects alike, and delete them with ignoreStoreReadErrorWithClusterBreakingPotential."""
    steps = [*_unreadable_steps("kindless"), *_unreadable_steps("other")]
    with both.served(crd("notes", "Note")):
        both.differences(Step("GET", NOTES))
        _store_unreadable(control_plane)
        found = _differing(both, steps)

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)
