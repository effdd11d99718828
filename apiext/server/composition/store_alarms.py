"""Alarms of etcd, by which it refuses writes and answers reads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import run_until_closed
from apiext.server.routes.healthz import HealthCheck
from apiext.storage.backend import AlarmsError, BackendError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.storage.backends.measured_backend import MeasuredBackend

_LOG: Final = get_logger(__name__)
HEALTH_CHECK: Final = "etcd-alarms"
_ASK_SECONDS: Final = 30.0
_EFFECTS: Final = {"NOSPACE": "etcd refuses all writes but deletions", "CORRUPT": "the data of a member of etcd are damaged"}


class StoreAlarms:
    """Asks etcd for its alarms. Without an answer the last ones count: another check reports an etcd that is away."""

    def __init__(self, backend: MeasuredBackend) -> None:
        self._backend = backend

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.ask()
            await asyncio.sleep(_ASK_SECONDS)

    async def ask(self) -> None:
        """Ask once, and log a change."""
        before = self._backend.alarms
        try:
            await self._backend.writable()
        except AlarmsError as error:
            if error.kinds != before:
                _LOG.error("etcd has alarms", alarms=", ".join(error.kinds))
        except BackendError as error:
            _LOG.debug("alarms of etcd not read", error=str(error))
        else:
            if before:
                _LOG.info("etcd has no alarms any more", alarms=", ".join(before))

    def remarks(self) -> Sequence[str]:
        """Return the present alarms with their effect."""
        return [f"{kind}: {_EFFECTS.get(kind, 'see etcd')}" for kind in self._backend.alarms]


def follow_alarms(backend: MeasuredBackend, stack: AsyncExitStack) -> HealthCheck:
    """Ask etcd for its alarms until `stack` closes. Return a readiness check, which always passes: reads work, also elsewhere no writes."""
    alarms = StoreAlarms(backend)
    run_until_closed(stack, alarms.run())

    async def passes() -> None:
        """Pass: an unready server would refuse reads, too."""

    return HealthCheck(HEALTH_CHECK, passes, alarms.remarks)
