"""The JSON lines of watch events: about an object, bookmarks, and errors that end a watch."""

from __future__ import annotations

from typing import Any, Final

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupVersionKind
from apiext.storage.errors import CorruptObjectError, UnknownPastError
from apiext.storage.interface import Event, EventType, Item

_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


def event(type_: EventType, item: Item) -> Event:
    """Return the event of a type about an object."""
    line = b'{"type":"%b","object":%b}\n' % (type_.encode(), item.data)
    return Event(type=type_, item=item, revision=item.revision, line=line)


def bookmark(gvk: GroupVersionKind, revision: int, *, initial_events_end: bool = False) -> Event:
    """Return a bookmark: an object of the watched kind with nothing but a resourceVersion."""
    metadata: dict[str, Any] = {"resourceVersion": str(revision)}
    if initial_events_end:
        metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
    obj = {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}
    line = b'{"type":"BOOKMARK","object":%b}\n' % json_codec.dumps(obj)
    return Event(type=EventType.BOOKMARK, item=None, revision=revision, line=line)


def status_error(error: CorruptObjectError | errors.StatusError) -> errors.StatusError:
    """Return the Status that ends a watch for an error of rendering."""
    if isinstance(error, UnknownPastError):
        return errors.StatusError(500, "StorageReadError", f"saw a DELETED event, but object data is corrupt - {error.message}")
    if isinstance(error, errors.StatusError):
        return error
    # without the beginning, which names the revision
    return errors.internal(error.message.partition(": ")[2] or error.message)


def error_event(error: errors.StatusError) -> Event:
    """Return the ERROR event for a Status."""
    line = b'{"type":"ERROR","object":%b}\n' % json_codec.dumps(error.status(), sort_keys=False)
    return Event(type=EventType.ERROR, item=None, revision=0, line=line)
