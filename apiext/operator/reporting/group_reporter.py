"""Conditions and events of one group, while it is looked at."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.api_clients import ApiError
from apiext.operator.reporting.reporter import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apiext.operator.api_clients import Api, Json
    from apiext.operator.reporting.event_recorder import Recorder

_LOG: Final = get_logger(__name__)
_PROGRESS: Final = 2.0
"""Seconds between two conditions of the same reason."""


class GroupReporter:
    """Implements Reporter. `obstacle` is what keeps requests from apiext: with it, that the group is served is not true."""

    def __init__(self, host: Api, recorder: Recorder, written: Callable[[Json], None], clock: Callable[[], float] = time.monotonic) -> None:
        self.obstacle = ""
        self._host = host
        self._recorder = recorder
        self._written = written
        self._clock = clock
        self._last: dict[str, tuple[Reason, str, float]] = {}

    async def condition(self, crds: Iterable[Json], reason: Reason, message: str) -> None:
        """See Reporter."""
        if reason.is_served and self.obstacle:
            reason, message = Reason.FAILED, self.obstacle
        for crd in crds:
            name = crd["metadata"]["name"]
            if self._is_mere_progress(name, reason, message):
                continue
            try:
                found = await host_definitions.amend(self._host, crd, host_definitions.condition(reason, message), status=True)
            except ApiError as error:
                _LOG.warning("a condition cannot be set", crd=name, reason=reason.value, message=message, error=str(error))
                continue
            if found is not None and found is not crd:
                self._written(found)
                await self._changed(found, reason, message)
            self._last[name] = reason, message, self._clock()

    async def event(self, about: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """See Reporter."""
        await self._recorder.record(about, reason, message, warning=warning)

    async def _changed(self, crd: Json, reason: Reason, message: str) -> None:
        """A change of the reason is worth an event, progress is not."""
        name = crd["metadata"]["name"]
        before = self._last.get(name)
        if before is not None and before[0] is reason and not reason.is_trouble:
            return
        _LOG.info("a definition's condition has changed", crd=name, reason=reason.value, message=message)
        await self._recorder.record(crd, reason.value, message, warning=reason.is_trouble)

    def _is_mere_progress(self, name: str, reason: Reason, message: str) -> bool:
        before = self._last.get(name)
        if before is None or before[0] is not reason or before[1] == message:
            return False
        return self._clock() < before[2] + _PROGRESS
