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
    type: str
    description: str
    place: str = "query"
    """"query" or "path"."""

    @property
    def required(self) -> bool:
        """Whether the parameter is required: true for every path parameter."""
        return self.place == "path"


PRETTY: Final = Parameter("pretty", "string", "Whether to indent the response. By default it is indented for browsers, curl and wget only.")
NAMESPACE: Final = Parameter("namespace", "string", "Namespace of the object.", place="path")

_RESOURCE_VERSION: Final = Parameter(
    "resourceVersion", "string", "Constraint on the version of the data: unset for the most recent, 0 for any, or a version to start at."
)
_DRY_RUN: Final = Parameter("dryRun", "string", 'Stages to process without persisting the change; the only valid value is "All".')
_FIELD_MANAGER: Final = Parameter("fieldManager", "string", "Name of the client that makes the change, at most 128 printable characters.")
_FIELD_VALIDATION: Final = Parameter(
    "fieldValidation",
    "string",
    "How to handle unknown and duplicate fields: Ignore drops them, Warn drops them with a warning, Strict rejects the request.",
)
_FORCE: Final = Parameter("force", "boolean", "Whether an apply takes over fields of other managers.")

_LIST: Final = (
    Parameter("allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks."),
    Parameter("continue", "string", "Token of the next page, from the previous response."),
    Parameter("fieldSelector", "string", "Selects objects by their fields."),
    Parameter("labelSelector", "string", "Selects objects by their labels."),
    Parameter("limit", "integer", "Maximum number of objects in a response."),
    _RESOURCE_VERSION,
    Parameter("resourceVersionMatch", "string", "How to apply resourceVersion to a list: Exact or NotOlderThan."),
    Parameter("sendInitialEvents", "boolean", "Whether a watch starts with the existing objects, followed by a bookmark."),
    Parameter("shardSelector", "string", "Selects the objects of a part of the collection."),
    Parameter("timeoutSeconds", "integer", "Seconds after which a list or watch ends."),
    Parameter("watch", "boolean", "Whether to watch for changes instead of listing."),
)
_DELETE: Final = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "Seconds before the object is deleted; 0 deletes it immediately."),
    Parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether to delete the object even if the stored data cannot be read.",
    ),
    Parameter("orphanDependents", "boolean", "Deprecated: use propagationPolicy. Whether to orphan the dependents."),
    Parameter("propagationPolicy", "string", "How to delete dependents: Orphan, Background or Foreground."),
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
    return Parameter("name", "string", f"name of the {kind}", place="path")
