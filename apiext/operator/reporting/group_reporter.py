"""Conditions and events of one group."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

from apiext.base.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.host_definitions import ConditionReason
from apiext.operator.reporting.event_recorder import EventRecorder

_LOG: Final = get_logger(__name__)
_PROGRESS_SECONDS: Final = 2.0
"""Shortest time between two messages with the same reason."""


class GroupReporter:
    """Reports on definitions of the host. A failure is logged, never raised.

    While `obstacle` holds a reason why requests do not reach apiext, the condition is Failed instead of Serving.
    """

    def __init__(
        self, host: ApiClient, recorder: EventRecorder, on_write: Callable[[Json], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.obstacle = ""
        self._host = host
        self._recorder = recorder
        self._on_write = on_write
        self._clock = clock
        self._last: dict[str, tuple[ConditionReason, str, float]] = {}

    async def condition(self, crds: Iterable[Json], reason: ConditionReason, message: str) -> None:
        """Set the condition on definitions of the host, if it differs; frequent progress messages are dropped."""
        if reason.is_served and self.obstacle:
            reason, message = ConditionReason.FAILED, self.obstacle
        for crd in crds:
            name = crd["metadata"]["name"]
            if self._is_frequent_progress(name, reason, message):
                continue
            try:
                found = await host_definitions.amend(self._host, crd, host_definitions.condition(reason, message), status=True)
            except ApiError as error:
                _LOG.warning("condition of definition not set", crd=name, reason=reason.value, message=message, error=str(error))
                continue
            if found is not None and found is not crd:
                self._on_write(found)
                await self._changed(found, reason, message)
            self._last[name] = reason, message, self._clock()

    async def event(self, about: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an event about a CustomResourceDefinition or an APIService of the host; repeated events are counted."""
        await self._recorder.record(about, reason, message, warning=warning)

    async def _changed(self, crd: Json, reason: ConditionReason, message: str) -> None:
        """Record an event if the reason changed, or needs attention."""
        name = crd["metadata"]["name"]
        before = self._last.get(name)
        if before is not None and before[0] is reason and not reason.needs_attention:
            return
        _LOG.info("condition of definition changed", crd=name, reason=reason.value, message=message)
        await self._recorder.record(crd, reason.value, message, warning=reason.needs_attention)

    def _is_frequent_progress(self, name: str, reason: ConditionReason, message: str) -> bool:
        before = self._last.get(name)
        if before is None or before[0] is not reason or before[1] == message:
            return False
        return self._clock() < before[2] + _PROGRESS_SECONDS
