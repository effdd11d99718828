"""Scopes of the instances of a mirror, by its phase (resources/definitions/mirror_phases.py)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, cast

from apiext.base.meta import errors
from apiext.base.meta.host_annotations import LEAVING
from apiext.resources.definitions.mirror_phases import RETRY_AFTER, check_write, expired
from apiext.storage.rendering.watch_queue import failed

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import CollectionRest, Scope
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.request_context import RequestContext
    from apiext.storage.interface import ListOptions, ListResult, Watch, WatchOptions

_READS: Final = frozenset({"get", "list", "watch"})
_COLLECTION_READS: Final = frozenset({"list", "watch"})
_ANY_REVISION: Final = frozenset({"", "0"})


def scope_in_phase(definition: Definition, scope: Scope, verb: str) -> Scope:
    """Return the scope for a client's request to the instances of a mirror. In phase LEAVING it refuses lists and watches.

    Raises:
        StatusError: the phase forbids writes (429).
    """
    if verb not in _READS:
        check_write(definition)
    elif definition.phase == LEAVING and verb in _COLLECTION_READS:
        return dataclasses.replace(scope, rest=cast("CollectionRest", _LeavingRest(definition)))
    return scope


class _LeavingRest:
    """Refuses lists and watches of a resource that another server now serves.

    A request with a revision gets 410: the other server does not know that revision yet, and client-go would repeat the request for
    30 s before it lists without one. A list without a revision gets 503 with Retry-After.
    """

    def __init__(self, definition: Definition) -> None:
        self._resource = definition.resource

    async def list(self, _ctx: RequestContext, options: ListOptions) -> ListResult:
        """Raise StatusError: 410 for a list with a revision, else 503."""
        if options.continue_token or options.resource_version not in _ANY_REVISION:
            raise expired()
        message = f"{self._resource} is being returned to the server that it was imported from: retry the list"
        raise errors.StatusError(503, "ServiceUnavailable", message, {"retryAfterSeconds": RETRY_AFTER})

    async def watch(self, _ctx: RequestContext, _options: WatchOptions, *, name: str = "") -> Watch:
        """Return a watch that ends with 410."""
        return failed(expired())
