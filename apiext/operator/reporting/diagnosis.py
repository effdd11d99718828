"""Which hop on the way to a group is broken, when the host says that it does not get there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from apiext.operator.checks.connections import Connections
from apiext.operator.checks.sequence import OF_GROUP, first_broken, walk
from apiext.operator.checks.snapshot import Look, Service, Target
from apiext.operator.connection_settings import of_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.operator.options import Options

_KEPT: Final = 20.0
"""Seconds for which a finding is not looked for again."""


class Diagnosis:
    """Walks the doctor's hops."""

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._connections = Connections(lambda: of_host(options))
        self._clock = clock
        self._found: dict[str, tuple[float, str]] = {}

    async def of(self, group: str, authority: str) -> str:
        """The first broken hop with what to do about it, empty where all can be taken."""
        moment, said = self._found.get(group, (-_KEPT, ""))
        if self._clock() < moment + _KEPT:
            return said
        service = Service(self._options.service.namespace, self._options.service.name)
        target = Target(
            selector=str(self._options.selector),
            service=service,
            port=self._options.port,
            server=self._options.server,
            authority=authority,
        )
        broken = first_broken(await walk(Look(target, self._connections), OF_GROUP, group))
        said = str(broken) if broken else ""
        self._found[group] = self._clock(), said
        return said

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()
