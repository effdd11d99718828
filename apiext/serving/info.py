"""What answers the requests for one definition, as long as its specification stays the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apiext.admission.terminating_definition import Ending
from apiext.endpoints.handlers.open_watches import Watches

if TYPE_CHECKING:
    from apiext.definitions.definition import Definition
    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Codec


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """One version of a definition, served."""

    scopes: Mapping[str, Scope]
    """By subresource; "" is the resource itself."""
    codec: Codec
    warnings: tuple[str, ...] = ()
    """What every answer of a deprecated version warns of."""


@dataclass(slots=True, eq=False)
class ServingInfo:
    """The versions of a definition that have been asked for, and the requests that are using them."""

    definition: Definition
    versions: dict[str, ServedVersion] = field(default_factory=dict)
    watches: Watches = field(default_factory=Watches)
    ending: Ending = field(default_factory=Ending)
    """Told when the definition is being deleted, or is gone: nothing is created any more, not by requests under way either."""
    _in_flight: int = 0
    _drained: asyncio.Future[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether requests are being served, watches apart."""
        return self._in_flight > 0

    def enter(self) -> None:
        """A request begins."""
        self._in_flight += 1

    def leave(self) -> None:
        """A request has ended."""
        self._in_flight -= 1
        if not self._in_flight and self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    async def drained(self, seconds: float) -> None:
        """Return when no request is being served any more, or after so many seconds."""
        if self.busy:
            self._drained = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._drained}, timeout=seconds)

    def fits(self, definition: Definition) -> bool:
        """Whether it may serve a definition that has changed since: specification and accepted names are the same."""
        return served_part(self.definition.object) == served_part(definition.object)


def served_part(crd: Object) -> tuple[object, object]:
    """What of a definition decides how its resources are served."""
    return crd.get("spec"), (crd.get("status") or {}).get("acceptedNames")
