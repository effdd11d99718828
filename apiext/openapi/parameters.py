"""The query and path parameters of operations.

Mirrors meta/v1 (ListOptions, GetOptions, CreateOptions, UpdateOptions, PatchOptions, DeleteOptions) as AddObjectParams
of apiserver pkg/endpoints publishes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class Parameter:
    """A query or path parameter; sorted by name."""

    name: str
    place: str
    """"query" or "path"."""
    type: str
    description: str

    @property
    def required(self) -> bool:
        """Whether it is required: every path parameter is."""
        return self.place == "path"


def _query(name: str, type: str, description: str) -> Parameter:
    return Parameter(name, "query", type, description)


PRETTY: Final = _query("pretty", "string", "Whether to indent the response. By default it is indented for browsers, curl and wget only.")
NAMESPACE: Final = Parameter("namespace", "path", "string", "Namespace of the object.")

_RESOURCE_VERSION: Final = _query(
    "resourceVersion", "string", "Constraint on the version of the data: unset for the most recent, 0 for any, or a version to start at."
)
_DRY_RUN: Final = _query("dryRun", "string", 'Stages to process without persisting the change; the only valid value is "All".')
_FIELD_MANAGER: Final = _query("fieldManager", "string", "Name of the client that makes the change, at most 128 printable characters.")
_FIELD_VALIDATION: Final = _query(
    "fieldValidation",
    "string",
    "How to handle unknown and duplicate fields: Ignore drops them, Warn drops them with a warning, Strict rejects the request.",
)
_FORCE: Final = _query("force", "boolean", "Whether an apply takes over fields of other managers.")

_LIST: Final = (
    _query("allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks."),
    _query("continue", "string", "Token of the next page, from the previous response."),
    _query("fieldSelector", "string", "Selects objects by their fields."),
    _query("labelSelector", "string", "Selects objects by their labels."),
    _query("limit", "integer", "Maximum number of objects in a response."),
    _RESOURCE_VERSION,
    _query("resourceVersionMatch", "string", "How to apply resourceVersion to a list: Exact or NotOlderThan."),
    _query("sendInitialEvents", "boolean", "Whether a watch starts with the existing objects, followed by a bookmark."),
    _query("shardSelector", "string", "Selects the objects of a part of the collection."),
    _query("timeoutSeconds", "integer", "Seconds after which a list or watch ends."),
    _query("watch", "boolean", "Whether to watch for changes instead of listing."),
)
_DELETE: Final = (
    _DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Seconds before the object is deleted; 0 deletes it immediately."),
    _query(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether to delete the object even if the stored data cannot be read.",
    ),
    _query("orphanDependents", "boolean", "Deprecated: use propagationPolicy. Whether to orphan the dependents."),
    _query("propagationPolicy", "string", "How to delete dependents: Orphan, Background or Foreground."),
)
_WRITE: Final = (_DRY_RUN, _FIELD_MANAGER, _FIELD_VALIDATION)

BY_ACTION: Final = {
    "get": (_RESOURCE_VERSION,),
    "list": _LIST,
    "deletecollection": _LIST,
    "watch": _LIST,
    "watchlist": _LIST,
    "post": _WRITE,
    "put": _WRITE,
    "patch": (*_WRITE, _FORCE),
    "delete": _DELETE,
}
"""Query parameters by action."""

BY_BUILTIN_ACTION: Final = {
    **BY_ACTION,
    "get": (),
    "deletecollection": (*(one for one in _LIST if one.name not in {"watch", "allowWatchBookmarks"}), *_DELETE),
}
"""Query parameters by action for built-in kinds."""


def name_of(kind: str) -> Parameter:
    """Return the path parameter with an object's name."""
    return Parameter("name", "path", "string", f"name of the {kind}")
