"""Tests of unreadable objects: errors, and unsafe deletion."""

import http
import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Answer, Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import gateway
from hack.lib.waiting import until
from tests.differential.cases.deletion_steps import GROUP, IGNORE, NOTES, crd, note
from tests.differential.helpers.differences import assert_none

pytestmark = pytest.mark.slow

PREFIX: Final = "/apiext-deletion"
ONE: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/notes.{GROUP}"
_REVISION: Final = re.compile(r"revision=\d+")
UNREADABLE: Final = {
    "kindless": b'{"a":1}',
    "other": f'{{"apiVersion":"{GROUP}/v9","kind":"Note","metadata":{{}}}}'.encode(),
    "foreign": b'{"apiVersion":"other.example.com/v1","kind":"Note","metadata":{}}',
    "versionless": b'{"kind":"Note","metadata":{}}',
    "encrypted": b"k8s:enc:aescbc:v1:key:abc",
    "cut": b'{"apiVersion":',
    "empty": b"",
    "array": b"[]",
    "null": b"null",
}


@pytest.fixture
def both(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start the reference, and apiext on the reference's etcd with its own prefix."""
    folder = tmp_path_factory.mktemp("apiext-on-etcd")
    with BareServer(folder, etcd_url=control_plane.etcd_url, etcd_prefix=PREFIX) as server:
        servers = Pair(control_plane, server)
        yield servers
        servers.close()


def _store_unreadable(control_plane: ControlPlane) -> None:
    """Store unreadable objects directly in etcd."""
    for name, data in UNREADABLE.items():
        _store(control_plane, name, data)


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
    ]
    gone = Step("GET", NOTES, retry=True, until="404 page not found")
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
        # apiext warns of what the removal strands
        assert_none(_differing(pair, before) + pair.differences(gone) + _differing(pair, steps))


def test_unreadable(both: Pair, control_plane: ControlPlane) -> None:
    """Report unreadable objects alike, and delete them with ignoreStoreReadErrorWithClusterBreakingPotential."""
    steps = [step for name in UNREADABLE for step in _unreadable_steps(name)]
    with both.served(crd("notes", "Note")):
        both.differences(Step("GET", NOTES))
        _store_unreadable(control_plane)
        assert_none(_differing(both, steps))


def test_unreadable_without_the_feature(tmp_path: Path) -> None:
    """Report unreadable objects alike without AllowUnsafeMalformedObjectDeletion, and ignore the option for them."""
    flag = "--feature-gates=AllowUnsafeMalformedObjectDeletion=false"
    found: list[str] = []
    with (
        ControlPlane(tmp_path / "reference", durable=False, extra_args=[flag]) as plane,
        BareServer(tmp_path / "apiext", etcd_url=plane.etcd_url, etcd_prefix=PREFIX, extra_args=[flag]) as server,
        closing(Pair(plane, server)) as pair,
        pair.served(crd("notes", "Note")),
    ):
        pair.differences(Step("GET", NOTES))
        for name, data in UNREADABLE.items():
            _store(plane, name, data)
            found += _differing(pair, [*_unreadable_steps(name), Step("GET", f"{NOTES}?limit=500"), Step("DELETE", NOTES)])
            _remove(plane, name)

    assert_none(found)


def _unavailable(side: Side) -> tuple[int, str | None, str]:
    """Return the answer to a watch, once it is refused because of an unreadable object: status, Retry-After and message."""
    answers: list[tuple[int, str | None, str]] = []

    def refused() -> bool:
        response, data = side.raw(Step("GET", f"{NOTES}?watch=true&timeoutSeconds=1"))
        # the reference first stops its cache, and then tells why it cannot fill it
        if response.status == http.HTTPStatus.TOO_MANY_REQUESTS and b"failed to list" in data:
            message = json.loads(data)["message"].replace(f"{PREFIX}/", "/registry/")
            answers.append((response.status, response.getheader("Retry-After"), _REVISION.sub("revision=*", message)))
        return bool(answers)

    until(refused, "the refusal of watches")
    return answers[0]


def _store(control_plane: ControlPlane, name: str, data: bytes) -> None:
    for prefix in (control_plane.etcd_prefix, PREFIX):
        gateway(control_plane.etcd_url, "kv/put", key=f"{prefix}/{GROUP}/notes/default/{name}".encode(), value=data)


def _remove(control_plane: ControlPlane, name: str) -> None:
    for prefix in (control_plane.etcd_prefix, PREFIX):
        gateway(control_plane.etcd_url, "kv/deleterange", key=f"{prefix}/{GROUP}/notes/default/{name}".encode())


def test_reads_of_a_collection(both: Pair, control_plane: ControlPlane) -> None:
    """Refuse lists and watches while an object is unreadable; expire older revisions after its deletion."""
    with both.served(crd("notes", "Note")):
        both.differences(Step("POST", NOTES, note("good")))
        start = {side: json.loads(side.raw(Step("GET", f"{NOTES}/good"))[1])["metadata"]["resourceVersion"] for side in _sides(both)}
        _store(control_plane, "other", UNREADABLE["other"])
        lists = _differing(both, [Step("GET", f"{NOTES}?limit=500"), Step("DELETE", NOTES), Step("GET", f"{NOTES}/good")])
        watches = [_unavailable(side) for side in _sides(both)]
        deleted = _differing(both, [Step("DELETE", f"{NOTES}/other", {IGNORE: True})])
        until(
            lambda: all(
                side.raw(Step("GET", f"{NOTES}?watch=true&timeoutSeconds=1"))[0].status == http.HTTPStatus.OK for side in _sides(both)
            )
        )
        expired = [_first_event(side, start[side]) for side in _sides(both)]

    assert (lists, deleted) == ([], [])
    assert watches[0] == watches[1]
    assert [event["object"]["code"] for event in expired] == [http.HTTPStatus.GONE] * 2
    assert [event["object"]["reason"] for event in expired] == ["Expired"] * 2


def _sides(both: Pair) -> tuple[Side, Side]:
    return both.reference, both.ours


def _first_event(side: Side, revision: str) -> Any:
    _, data = side.raw(Step("GET", f"{NOTES}?watch=true&timeoutSeconds=1&resourceVersion={revision}"))
    return json.loads(data.splitlines()[0])
