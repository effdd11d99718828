"""The plugins of a configuration, and their probes (apiserver pkg/server/options/encryptionconfig/config.go)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Self

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.value.kms.kms_stats import KMSStats
from apiext.storage.value.kms.plugin import Plugin
from apiext.storage.value.kms.service import KMSService
from apiext.storage.value.transformer import TransformError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.storage.value.configuration import KMSProvider
    from apiext.storage.value.transformer import Transformer

_HEALTHY_SECONDS: Final = 20.0
UNHEALTHY_SECONDS: Final = 3.0
"""How long the result of a probe is used."""
_PROBE_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 10.0
"""Intervals of probes, after a success and after a failure."""

_LOG: Final = get_logger(__name__)


class Probe:
    """Checks a plugin when its last result is too old."""

    def __init__(self, plugin: Plugin, clock: Callable[[], float] = time.monotonic) -> None:
        self.plugin = plugin
        self._clock = clock
        self._lock = asyncio.Lock()
        self._until = 0.0
        self._error: TransformError | None = None

    async def problem(self) -> str:
        """Return the plugin's problem, empty if it is healthy."""
        async with self._lock:
            if self._clock() >= self._until:
                try:
                    await self.plugin.check()
                except TransformError as error:
                    self._error = error
                else:
                    self._error = None
                self._until = self._clock() + (UNHEALTHY_SECONDS if self._error is not None else _HEALTHY_SECONDS)
            return "" if self._error is None else str(self._error)


class Plugins:
    """The connected plugins of a configuration."""

    def __init__(self, plugins: Sequence[Plugin], stats: KMSStats) -> None:
        self.stats = stats
        self.transformers: Mapping[str, Transformer] = {plugin.name: plugin for plugin in plugins}
        """The transformers by the names of the plugins."""
        self._probes = [Probe(plugin) for plugin in plugins]
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(cls, providers: Sequence[KMSProvider], stats: KMSStats | None = None) -> Self:
        """Connect to plugins, and probe them once and then regularly. One that does not answer is tried again in the background.

        `stats` are those of the previous plugins.
        """
        stats = stats or KMSStats()
        self = cls([Plugin(provider.name, KMSService(provider, stats), stats) for provider in providers], stats)
        await asyncio.gather(*(self._probe(each) for each in self._probes))
        self._tasks = [asyncio.get_running_loop().create_task(self._repeat(each)) for each in self._probes]
        return self

    @property
    def changes(self) -> int:
        """Return a number that grows with each change after which other values may be readable or stale."""
        return sum(probe.plugin.changes for probe in self._probes)

    async def problems(self) -> list[str]:
        """Return the problems of the plugins by their numbers."""
        found = [(number, await probe.problem()) for number, probe in enumerate(self._probes)]
        return [f"kms-provider-{number}: {problem}" for number, problem in found if problem]

    async def _probe(self, probe: Probe) -> bool:
        problem = await probe.problem()
        if problem:
            _LOG.warning("kms plugin failed health check probe", name=probe.plugin.name, error=problem)
        return not problem

    async def _repeat(self, probe: Probe) -> None:
        healthy = not await probe.problem()
        while True:
            await asyncio.sleep(_PROBE_SECONDS if healthy else _RETRY_SECONDS)
            healthy = await self._probe(probe)

    async def close(self) -> None:
        """End the probes and close the connections."""
        await end_tasks(*self._tasks)
        await asyncio.gather(*(probe.plugin.service.close() for probe in self._probes))
