"""Serving info of a definition: scopes and codecs of its versions, valid until its specification changes."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from apiext.api.admission.terminating_definition import Termination
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.base.meta import errors
from apiext.base.meta.host_annotations import LEAVING
from apiext.resources.definitions.mirror_phases import RETRY_AFTER, check_write, expired
from apiext.storage.rendering.watch_queue import failed

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import CollectionRest, Scope
    from apiext.base.meta.request import RequestInfo
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.registry.request_context import RequestContext
    from apiext.storage.interface import Codec, ListOptions, ListResult, Watch, WatchOptions

Notice = Callable[["RequestInfo"], Sequence[str]]
"""Returns the warnings that a request gets, for a reason that lies in the version."""


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


@dataclass(frozen=True, slots=True)
class ServingVersion:
    """One version of a definition."""

    scopes: Mapping[str, Scope]
    """Scopes by subresource; "" is the resource itself."""
    codec: Codec
    notices: tuple[Notice, ...] = ()
    deprecated: bool = False

    def warnings(self, request: RequestInfo) -> list[str]:
        """Return the warnings that a request gets."""
        return [warning for notice in self.notices for warning in notice(request)]


@dataclass(slots=True, eq=False, weakref_slot=True)
class ServingInfo:
    """The requested versions of a definition, and a count of the running requests."""

    definition: Definition
    versions: dict[str, ServingVersion] = field(default_factory=dict)
    watches: Watches = field(default_factory=Watches)
    converter: Converter | None = None
    """The converter of all versions, made for the first one that is requested."""
    ending: Termination = field(default_factory=Termination)
    """Whether the definition is terminating or gone. Creates are then refused, also those of running requests."""
    _in_flight: int = 0
    _drained: asyncio.Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Report whether requests other than watches are running."""
        return self._in_flight > 0

    def scope_for(self, verb: str, scope: Scope) -> Scope:
        """Return the scope in which a request is answered at present.

        Raises:
            StatusError: such requests are refused at present (429).
        """
        return scope if self.definition.phase is None else scope_in_phase(self.definition, scope, verb)

    def enter(self) -> None:
        """Count a request that starts."""
        self._in_flight += 1

    def leave(self) -> None:
        """Count a request that has finished."""
        self._in_flight -= 1
        if not self._in_flight and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    async def drained(self, seconds: float) -> None:
        """Return when no request is running, or after a number of seconds."""
        if self.busy:
            self._drained = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._drained}, timeout=seconds)

    def fits(self, definition: Definition) -> bool:
        """Report whether this info fits a changed definition: specification and accepted names are equal."""
        return _served_part(self.definition) == _served_part(definition)


def _served_part(definition: Definition) -> tuple[bytes, object]:
    """Return the parts of a definition that decide how its resources are served. Do not parse its schemas: they can be large.

    The first one has at least the JSON of the specification, whose form is canonical.
    """
    data = definition.item.data
    begin, end = data.find(b',"spec":{'), data.rfind(b',"status":{')
    return data[begin:end] if 0 < begin < end else data, definition.head["status"]["acceptedNames"]
