"""Requests allowed in each phase of a mirror (base/meta/host_annotations.py).

A mirror is the copy of another server's definition. Its instances are imported from that server, or returned to it. Other definitions
have no phase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.host_annotations import IMPORTING, LEAVING, SERVING

if TYPE_CHECKING:
    from apiext.resources.definitions.definition import Definition

RETRY_AFTER: Final = 1
"""Seconds until clients retry a refused request. Phases that refuse requests are short."""
_RETURN_RETRY_AFTER: Final = 3
"""The same for writes while instances are returned, which takes ten seconds and more: client-go sends a request ten times again."""
FOREIGN: Final = frozenset({IMPORTING, LEAVING})
"""Phases in which the other server owns the instances: the objects in this store are copies."""


def check_write(definition: Definition) -> None:
    """Check that clients may write instances.

    Raises:
        StatusError: the phase is neither None nor SERVING (429).
    """
    phase = definition.phase
    if phase is None or phase == SERVING:
        return
    why, seconds = "is being returned to the server that it was imported from", _RETURN_RETRY_AFTER
    if phase == IMPORTING:
        why, seconds = "is being imported from another server", RETRY_AFTER
    raise errors.too_many_requests(f"{definition.resource} {why}: it cannot be written now", seconds)


def check_import(definition: Definition) -> None:
    """Check that imports may write the definition's objects.

    Raises:
        StatusError: the definition is not an established mirror in phase IMPORTING (409).
    """
    if definition.phase is None:
        why = "it is not a mirror of another server's definition"
    elif definition.phase != IMPORTING:
        why = f"its phase is {definition.phase}, and objects are imported in phase {IMPORTING}"
    elif definition.is_terminating:
        why = "it is being deleted"
    elif not definition.is_established:
        # The finalizer deletes no instances of a definition that was never established.
        why = "it is not established"
    else:
        return
    raise errors.conflict(CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource, definition.name, why)


def check_removal(definition: Definition) -> None:
    """Check that the instances may be removed from the store, regardless of their finalizers.

    Raises:
        StatusError: the instances are not copies (409).
    """
    if definition.phase not in FOREIGN:
        why = f"its phase is {definition.phase}, and its instances must be deleted through the API"
        raise errors.conflict(CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource, definition.name, why)


def expired() -> errors.StatusError:
    """Return the error that ends watches in phase LEAVING (410). Clients then list again, on the other server."""
    return errors.expired("too old resource version")
