"""The query and path parameters of operations.

Mirrors meta/v1 (ListOptions, GetOptions, CreateOptions, UpdateOptions, PatchOptions, DeleteOptions) as AddObjectParams
of apiserver pkg/endpoints publishes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, order=True)
class Parameter:
    """A parameter in a query or a path; sorted by name."""

    name: str
    place: str
    """query or path"""
    type: str
    description: str

    @property
    def required(self) -> bool:
        """Whether it must be given: those in paths."""
        return self.place == "path"


def _query(name: str, type: str, description: str) -> Parameter:
    return Parameter(name, "query", type, description)


PRETTY: Final = _query("pretty", "string", "Whether the answer is indented. Without it, it is for browsers, curl and wget.")
NAMESPACE: Final = Parameter("namespace", "path", "string", "Namespace of the object.")

_RESOURCE_VERSION: Final = _query(
    "resourceVersion", "string", "How fresh the data must be: unset for the newest, 0 for any, or a version to start at."
)
_DRY_RUN: Final = _query("dryRun", "string", 'Stages to run without storing anything; "All" is the only one.')
_FIELD_MANAGER: Final = _query("fieldManager", "string", "Who makes the change, in 128 printable characters at most.")
_FIELD_VALIDATION: Final = _query(
    "fieldValidation",
    "string",
    "What happens to unknown and duplicate fields: Ignore drops them, Warn drops them and warns, Strict refuses them.",
)
_FORCE: Final = _query("force", "boolean", "Whether an apply takes fields away from their owners.")

_LIST: Final = (
    _query("allowWatchBookmarks", "boolean", "Whether a watch may send bookmarks."),
    _query("continue", "string", "Token of the next page, from the answer before."),
    _query("fieldSelector", "string", "Lists only objects whose fields match."),
    _query("labelSelector", "string", "Lists only objects whose labels match."),
    _query("limit", "integer", "Most objects to list at once."),
    _RESOURCE_VERSION,
    _query("resourceVersionMatch", "string", "How resourceVersion is meant for lists: Exact or NotOlderThan."),
    _query("sendInitialEvents", "boolean", "Whether a watch begins with what is there, followed by a bookmark."),
    _query("shardSelector", "string", "Lists only the objects of a part of the collection."),
    _query("timeoutSeconds", "integer", "Seconds after which a list or watch ends."),
    _query("watch", "boolean", "Whether to watch for changes instead of listing."),
)
_DELETE: Final = (
    _DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Seconds the object gets to end; 0 for at once."),
    _query(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether to delete the object even if what is stored cannot be read.",
    ),
    _query("orphanDependents", "boolean", "Deprecated: use propagationPolicy. Whether dependents stay."),
    _query("propagationPolicy", "string", "What happens to dependents: Orphan, Background or Foreground."),
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
"""What an operation of that action takes, besides what its path does."""

BY_BUILTIN_ACTION: Final = {
    **BY_ACTION,
    "get": (),
    "deletecollection": (*(one for one in _LIST if one.name not in {"watch", "allowWatchBookmarks"}), *_DELETE),
}
"""The same for built-in kinds."""


def name_of(kind: str) -> Parameter:
    """The parameter in the path that names an object."""
    return Parameter("name", "path", "string", f"name of the {kind}")
