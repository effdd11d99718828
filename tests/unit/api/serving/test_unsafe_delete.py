"""Objects that cannot be decoded, and their unsafe deletion."""

from typing import Final

import pytest

from apiext.api.authorization.authorizer import ALLOWED, Authorize, Decision, ReviewError, Verdict
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import InProcess

BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
IGNORE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
UNREADABLE: Final = {"none": b"garbage", "kindless": b'{"a":1}', "other": b'{"apiVersion":"example.com/v9","kind":"Widget","metadata":{}}'}


async def _not_unsafe(_user: UserInfo, info: RequestInfo) -> Verdict:
    """Allow all requests but unsafe deletions."""
    return Verdict(Decision.NO_OPINION, "not that") if info.verb == "unsafe-delete-ignore-read-errors" else ALLOWED


async def _store_corrupt_objects(server: InProcess) -> None:
    for name, data in UNREADABLE.items():
        await server.backend.create(f"/registry/example.com/widgets/default/{name}", data)


async def _unreachable(_user: UserInfo, info: RequestInfo) -> Verdict:
    """Fail for unsafe deletions only."""
    if info.verb == "unsafe-delete-ignore-read-errors":
        raise ReviewError("unreachable")
    return ALLOWED


@pytest.fixture
async def corrupt(widgets: InProcess) -> InProcess:
    """Yield a server with widgets, some of which cannot be decoded."""
    await _store_corrupt_objects(widgets)
    return widgets


@pytest.mark.parametrize("name", UNREADABLE)
async def test_reads_report_corrupt_objects(corrupt: InProcess, name: str) -> None:
    """Report the key of a corrupt object: relative for a get, complete for a list, none for an update."""
    one = await corrupt.ask("GET", f"{BASE}/{name}")
    deleted = await corrupt.ask("DELETE", f"{BASE}/{name}")
    listed = await corrupt.ask("GET", BASE)
    patched = await corrupt.ask("PATCH", f"{BASE}/{name}", {}, Content_Type="application/merge-patch+json")

    beginning = f"Internal error occurred: StorageError: corrupt object, Code: 7, Key: /example.com/widgets/default/{name}, "
    assert (one.status, one.message[: len(beginning)]) == (500, beginning)
    assert deleted.message == one.message
    assert {cause["field"] for cause in listed.json["details"]["causes"]} >= {f"/registry/example.com/widgets/default/{name}"}
    assert patched.message.startswith("object not decodable revision=")
    assert "reason" not in patched.json


@pytest.mark.parametrize("name", UNREADABLE)
async def test_deletes_corrupt_objects(corrupt: InProcess, name: str) -> None:
    """Delete corrupt objects with the option, once; keep them in a dry run."""
    dry = await corrupt.ask("DELETE", f"{BASE}/{name}", {IGNORE: True, "dryRun": ["All"]})
    deleted = await corrupt.ask("DELETE", f"{BASE}/{name}?{IGNORE}=true")
    again = await corrupt.ask("DELETE", f"{BASE}/{name}", {IGNORE: True})

    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    assert dry.json == deleted.json == success | {"details": {"name": name, "kind": "Widget"}, "code": 200}
    assert again.status == 404


async def test_rejects_readable_objects(widgets: InProcess) -> None:
    """Reject the unsafe deletion of an object that can be decoded."""
    await widgets.ask("POST", BASE, widget("a"))
    refused = await widgets.ask("DELETE", f"{BASE}/a", {IGNORE: True})

    assert (refused.status, refused.json["reason"]) == (409, "Conflict")
    assert refused.message.endswith("AdditionalErrorMsg: unsafe deletion is not allowed because the object is decodable from storage")
    assert (await widgets.ask("GET", f"{BASE}/a")).status == 200


async def test_rejects_collections_and_namespaces(widgets: InProcess) -> None:
    """Reject the option for collections and namespaces."""
    collection = await widgets.ask("DELETE", BASE, {IGNORE: True})
    namespace = await widgets.ask("DELETE", "/api/v1/namespaces/default", {IGNORE: True})

    assert (collection.status, namespace.status) == (422, 500)
    assert "is not allowed with DELETECOLLECTION" in collection.message
    assert "no unsafe deleter provided" in namespace.message


@pytest.mark.parametrize(
    "authorize, why",
    [
        (_not_unsafe, 'not permitted to do "unsafe-delete-ignore-read-errors", reason: not that'),
        (_unreachable, 'error while checking permission for "unsafe-delete-ignore-read-errors", unreachable'),
    ],
    ids=["without it", "after a failed check"],
)
async def test_requires_a_permission_of_its_own(authorize: Authorize, why: str) -> None:
    """Require the permission for unsafe deletion, and a check that does not fail."""
    async with InProcess(authorize=authorize) as server:
        await server.define(widget_crd())
        await _store_corrupt_objects(server)
        refused = await server.ask("DELETE", f"{BASE}/none", {IGNORE: True})

    assert (refused.status, refused.message) == (403, f'widgets.example.com "none" is forbidden: {why}')


async def test_ignores_the_option_if_disabled() -> None:
    """Ignore the option without the feature, also with an invalid value."""
    async with InProcess(unsafe_deletion=False) as server:
        await server.define(widget_crd())
        await _store_corrupt_objects(server)
        await server.ask("POST", BASE, widget("a"))
        unreadable = await server.ask("DELETE", f"{BASE}/none", {IGNORE: True, "gracePeriodSeconds": 1})
        readable = await server.ask("DELETE", f"{BASE}/a", {IGNORE: True, "gracePeriodSeconds": 1})

        errors = [await server.ask(verb, f"{BASE}/other", *body) for verb, *body in (("GET",), ("DELETE",), ("PUT", widget("other")))]
        listed = await server.ask("GET", BASE)

    assert (unreadable.status, readable.status) == (500, 200)
    assert {error.message for error in errors} == {"request to convert CR from an invalid group/version: example.com/v9"}
    assert all("reason" not in error.json for error in (*errors, listed))
    assert listed.message == "Object 'Kind' is missing in '{\"a\":1}'"
