"""What may happen to the instances of a mirror, by the phase that it is in (meta/host_annotations.py).

A mirror is the copy of a definition whose instances are being taken over from another server, or given back to it. Others have no phases.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, cast

from apiext.meta import errors
from apiext.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.meta.host_annotations import IMPORTING, LEAVING, SERVING
from apiext.storage.watch_queue import failed

if TYPE_CHECKING:
    from apiext.definitions.definition import Definition
    from apiext.endpoints.handlers.scope import CollectionRest, Scope
    from apiext.registry.request_context import RequestContext
    from apiext.storage.interface import ListOptions, ListResult, Watch, WatchOptions

_RETRY_AFTER: Final = 1
"""Seconds; a phase in which something is refused is short."""
_READS: Final = frozenset({"get", "list", "watch"})
_OF_ALL: Final = frozenset({"list", "watch"})
_NO_REVISION: Final = frozenset({"", "0"})
FOREIGN: Final = frozenset({IMPORTING, LEAVING})
"""Phases in which the instances are the other server's, and what is here is a copy."""


def in_phase(definition: Definition, scope: Scope, verb: str) -> Scope:
    """What answers a client's request to the instances of a mirror: the scope, or another that sends clients of all of them away.

    Raises StatusError (429) for a write that is refused.
    """
    if verb not in _READS:
        check_write(definition)
    elif definition.phase == LEAVING and verb in _OF_ALL:
        return dataclasses.replace(scope, rest=cast("CollectionRest", _Leaving(definition)))
    return scope


class _Leaving:
    """Stands for a resource that is listed and watched elsewhere from now on.

    Whoever goes on from a revision is told that it is too old, for elsewhere it would be one of the future: client-go asks for
    it again and again, half a minute long, before it begins without one. Who begins without is to come back.
    """

    def __init__(self, definition: Definition) -> None:
        self._resource = definition.resource

    async def list(self, _ctx: RequestContext, options: ListOptions) -> ListResult:
        """Raise StatusError: 410 for a revision that is named, else 503."""
        if options.continue_token or options.resource_version not in _NO_REVISION:
            raise ended()
        why = f"{self._resource} is going back to the server that it came from: list it again"
        raise errors.StatusError(503, "ServiceUnavailable", why, {"retryAfterSeconds": _RETRY_AFTER})

    async def watch(self, _ctx: RequestContext, _options: WatchOptions, *, name: str = "") -> Watch:
        """One that says so and ends."""
        return failed(ended())


def check_write(definition: Definition) -> None:
    """Raise StatusError (429) unless clients may write."""
    phase = definition.phase
    if phase is None or phase == SERVING:
        return
    why = "is coming here from another server" if phase == IMPORTING else "is going back to the server that it came from"
    raise errors.too_many_requests(f"{definition.resource} {why}: it cannot be written right now", _RETRY_AFTER)


def check_import(definition: Definition) -> None:
    """Raise StatusError (409) unless objects may be imported."""
    if definition.phase is None:
        why = "it is not the copy of another server's definition"
    elif definition.phase != IMPORTING:
        why = f"its phase is {definition.phase}, and objects are imported in phase {IMPORTING}"
    elif definition.is_terminating:
        why = "it is being deleted"
    elif not definition.is_established:
        # of what never was, no instances are looked for when it goes
        why = "it has not been established"
    else:
        return
    raise errors.conflict(CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource, definition.name, why)


def check_removal(definition: Definition) -> None:
    """Raise StatusError (409) unless the instances may be removed as they are, whatever keeps them."""
    if definition.phase not in FOREIGN:
        why = f"its phase is {definition.phase}, and instances are deleted in order"
        raise errors.conflict(CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource, definition.name, why)


def ended() -> errors.StatusError:
    """What watches end with when the instances are another server's again: clients list anew, and get to it."""
    return errors.expired("too old resource version")
