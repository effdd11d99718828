"""What the host tells of changes since a list: complete, or an error after which all objects are compared."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from apiext.base.webhook.client import WebhookError
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.operator.adoption.object_pages import AdoptedResource
from apiext.operator.adoption.resource_changes import MissedChangesError, ResourceChanges
from apiext.operator.api_clients import ApiClient

RESOURCE = AdoptedResource("widgets.example.com", "example.com", "v1", "widgets")


class _Host:
    """A host that answers each watch with events."""

    def __init__(self, *watches: Sequence[Any] | Exception, revisions: Sequence[int] = (15,)) -> None:
        self._watches = list(watches)
        self._revisions = list(revisions)
        self.paths: list[str] = []

    async def ask(self, path: str, **_: Any) -> tuple[int, bytes]:
        """Return an empty list at the next revision."""
        assert path == f"{RESOURCE.path}?limit=1"
        return 200, orjson.dumps({"metadata": {"resourceVersion": str(self._revisions.pop(0))}, "items": []})

    @asynccontextmanager
    async def lines(self, path: str, *, longest: float, silence: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the lines of the next watch."""
        assert longest >= silence
        self.paths.append(path)
        events = self._watches.pop(0)
        if isinstance(events, Exception):
            raise events
        yield _each(events)


async def _each(events: Sequence[Any]) -> AsyncIterator[bytes]:
    for one in events:
        yield orjson.dumps(one)


def event(kind: str, revision: int, name: str = "", **spec: Any) -> dict[str, Any]:
    """Return an event."""
    metadata = {"name": name, "namespace": "default"} if name else {}
    return {"type": kind, "object": {"metadata": {**metadata, "resourceVersion": str(revision)}, "spec": spec}}


def _changes(host: _Host, revision: int = 10) -> ResourceChanges:
    api = ApiClient(Endpoint(url="http://host", context=None))
    api.client = host  # type: ignore[assignment]
    return ResourceChanges(api, RESOURCE, revision)


async def test_returns_the_latest_change_of_each_object() -> None:
    """Return objects as they are now, deletions too, up to a bookmark; the next call continues there, and asks for nothing in vain."""
    host = _Host(
        [
            event("ADDED", 11, "a", n=1),
            event("MODIFIED", 12, "a", n=2),
            event("DELETED", 13, "b"),
            event("BOOKMARK", 20),
            event("ADDED", 21, "c"),
        ],
        [event("BOOKMARK", 20), event("ADDED", 21, "c", n=1), event("BOOKMARK", 30)],
        revisions=(15, 30, 30),
    )
    changes = _changes(host)

    first, second, third = await changes.read(), await changes.read(), await changes.read()

    assert [(one.wanted and (one.wanted.key, one.wanted.content["spec"]), one.present and one.present.key) for one in first] == [
        (("default/a", {"n": 2}), None),
        (None, "default/b"),
    ]
    assert all("resourceVersion" not in one.wanted.content["metadata"] for one in first if one.wanted)
    assert [one.wanted.key for one in second if one.wanted] == ["default/c"]
    assert third == []
    query = "watch=true&allowWatchBookmarks=true&timeoutSeconds=3"
    assert host.paths == [f"{RESOURCE.path}?{query}&resourceVersion={revision}" for revision in (10, 20)]


@pytest.mark.parametrize(
    "watch",
    [
        [event("ADDED", 11, "a"), event("BOOKMARK", 14)],
        [],
        [{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version: 10 (90)"}}],
        WebhookError("too old resource version", code=410),
    ],
    ids=["ends early", "empty", "error event", "refused"],
)
async def test_says_that_changes_are_missing(watch: Sequence[Any] | Exception) -> None:
    """Fail unless all changes were told."""
    with pytest.raises(MissedChangesError):
        await _changes(_Host(watch)).read()
