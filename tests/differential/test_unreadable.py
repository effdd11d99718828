"""Objects that cannot be read: what is said of them, and how they are got rid of, as the reference does."""

import http.client
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.differential.deletion_steps import GROUP, IGNORE, NOTES, crd, note
from tests.differential.pair import Answer, Pair, Step
from tests.support.controlplane import ControlPlane
from tests.support.server import ApiextServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

PREFIX: Final = "/apiext-deletion"
_REVISION: Final = re.compile(r"revision=\d+")
UNREADABLE: Final = {"kindless": b'{"a":1}', "other": f'{{"apiVersion":"{GROUP}/v9","kind":"Note","metadata":{{}}}}'.encode()}


@pytest.fixture
def both(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The reference, and apiext on the reference's etcd with keys of its own."""
    folder = tmp_path_factory.mktemp("apiext-on-etcd")
    with ApiextServer(folder, etcd_url=control_plane.etcd_url, etcd_prefix=PREFIX) as server:
        servers = Pair(control_plane, server)
        yield servers
        servers.close()


def _spoil(control_plane: ControlPlane) -> None:
    """Put objects that cannot be read into the store, past both servers."""
    for prefix in (control_plane.etcd_prefix, PREFIX):
        for name, data in UNREADABLE.items():
            body = {"key": f"{prefix}/{GROUP}/notes/default/{name}".encode(), "value": data}
            sent = json.dumps({member: b64encode(content).decode() for member, content in body.items()})
            connection = http.client.HTTPConnection(urlsplit(control_plane.etcd_url).netloc, timeout=10)
            connection.request("POST", "/v3/kv/put", sent)
            assert connection.getresponse().status == http.HTTPStatus.OK
            connection.close()


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


def _told(answer: Answer) -> tuple[int, str]:
    """An answer without what two stores do not share: where they keep their keys, and their revisions."""
    text = json.dumps(answer.body, sort_keys=True).replace(f"{PREFIX}/", "/registry/")
    return answer.code, _REVISION.sub("revision=*", text)


def test_unreadable(both: Pair, control_plane: ControlPlane) -> None:
    """What cannot be read is told of alike, and deleted by those who insist."""
    steps = [*_unreadable_steps("kindless"), *_unreadable_steps("other")]
    with both.served(crd("notes", "Note")):
        both.differences(Step("GET", NOTES))
        _spoil(control_plane)
        answers = [(step, _told(both.reference.ask(step)), _told(both.ours.ask(step))) for step in steps]

    found = [f"{step}\n    reference: {one}\n    apiext:    {other}" for step, one, other in answers if one != other]
    assert not found, f"{len(found)} differences:\n" + "\n".join(found)
