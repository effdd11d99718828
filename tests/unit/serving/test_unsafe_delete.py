"""Objects that cannot be read: what is said of them, and how they are got rid of."""

from typing import Any, Final

import pytest

from apiext.authorization.authorizer import ALLOWED, Decision, ReviewError, Verdict
from apiext.meta.request import RequestInfo, UserInfo
from tests.support.servers.in_process import InProcess, definition

BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
IGNORE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
UNREADABLE: Final = {"none": b"garbage", "kindless": b'{"a":1}', "other": b'{"apiVersion":"example.com/v9","kind":"Widget","metadata":{}}'}


class NotUnsafe:
    """Allows everything but the deletion of what cannot be read."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """See Authorizer."""
        return Verdict(Decision.NO_OPINION, "not that") if info.verb == "unsafe-delete-ignore-read-errors" else ALLOWED


async def _spoil(server: InProcess) -> None:
    for name, data in UNREADABLE.items():
        await server.backend.create(f"/registry/example.com/widgets/default/{name}", data)


@pytest.fixture
async def spoilt(widgets: InProcess) -> InProcess:
    """Widgets, some of which cannot be read."""
    await _spoil(widgets)
    return widgets


@pytest.mark.parametrize("name", UNREADABLE)
async def test_reads_say_why(spoilt: InProcess, name: str) -> None:
    """One object is told with its key below the prefix of all, a list with their whole keys, an update without any."""
    one = await spoilt.ask("GET", f"{BASE}/{name}")
    deleted = await spoilt.ask("DELETE", f"{BASE}/{name}")
    listed = await spoilt.ask("GET", BASE)
    patched = await spoilt.ask("PATCH", f"{BASE}/{name}", {}, Content_Type="application/merge-patch+json")

    beginning = f"Internal error occurred: StorageError: corrupt object, Code: 7, Key: /example.com/widgets/default/{name}, "
    assert (one.status, one.message[: len(beginning)]) == (500, beginning)
    assert deleted.message == one.message
    assert {cause["field"] for cause in listed.json["details"]["causes"]} >= {f"/registry/example.com/widgets/default/{name}"}
    assert patched.message.startswith("object not decodable revision=")
    assert "reason" not in patched.json


@pytest.mark.parametrize("name", UNREADABLE)
async def test_deletion(spoilt: InProcess, name: str) -> None:
    """They go when they are asked to, once; a dry run only says that they would."""
    dry = await spoilt.ask("DELETE", f"{BASE}/{name}", {IGNORE: True, "dryRun": ["All"]})
    deleted = await spoilt.ask("DELETE", f"{BASE}/{name}?{IGNORE}=true")
    again = await spoilt.ask("DELETE", f"{BASE}/{name}", {IGNORE: True})

    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    assert dry.json == deleted.json == success | {"details": {"name": name, "kind": "Widget"}, "code": 200}
    assert again.status == 404


async def test_readable_objects_stay(widgets: InProcess) -> None:
    """What can be read is not deleted that way."""
    await widgets.ask("POST", BASE, _widget("a"))
    refused = await widgets.ask("DELETE", f"{BASE}/a", {IGNORE: True})

    assert (refused.status, refused.json["reason"]) == (409, "Conflict")
    assert refused.message.endswith("AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage")
    assert (await widgets.ask("GET", f"{BASE}/a")).status == 200


async def test_collections_and_namespaces(widgets: InProcess) -> None:
    """Neither has the option."""
    collection = await widgets.ask("DELETE", BASE, {IGNORE: True})
    namespace = await widgets.ask("DELETE", "/api/v1/namespaces/default", {IGNORE: True})

    assert (collection.status, namespace.status) == (422, 500)
    assert "is not allowed with DELETECOLLECTION" in collection.message
    assert "no unsafe deleter provided" in namespace.message


async def test_authorization() -> None:
    """Deleting what cannot be read is a permission of its own."""
    async with InProcess(authorizer=NotUnsafe()) as server:
        await server.define(definition())
        await _spoil(server)
        refused = await server.ask("DELETE", f"{BASE}/none", {IGNORE: True})

    told = 'widgets.example.com "none" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: not that'
    assert (refused.status, refused.message) == (403, told)


class Unreachable:
    """Allows everything but what it would have to ask somebody else about."""

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """See Authorizer."""
        if info.verb == "unsafe-delete-ignore-read-errors":
            raise ReviewError("nobody there")
        return ALLOWED


async def test_authorization_fails() -> None:
    """Whoever cannot be asked does not allow it."""
    async with InProcess(authorizer=Unreachable()) as server:
        await server.define(definition())
        await _spoil(server)
        refused = await server.ask("DELETE", f"{BASE}/none", {IGNORE: True})

    told = 'is forbidden: error while checking permission for "unsafe-delete-ignore-read-errors", nobody there'
    assert (refused.status, refused.message) == (403, f'widgets.example.com "none" {told}')


async def test_switched_off() -> None:
    """Without the feature, the option is as good as absent, wrong as it may be."""
    async with InProcess(unsafe_deletion=False) as server:
        await server.define(definition())
        await _spoil(server)
        await server.ask("POST", BASE, _widget("a"))
        unreadable = await server.ask("DELETE", f"{BASE}/none", {IGNORE: True, "gracePeriodSeconds": 1})
        readable = await server.ask("DELETE", f"{BASE}/a", {IGNORE: True, "gracePeriodSeconds": 1})

    assert (unreadable.status, readable.status) == (500, 200)


def _widget(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {}}
