"""Follows whether the host authorizes with conditions, for authorization mode FrontProxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from apiext.api.authorization import conditional
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.ticks import until_tick
from apiext.base.webhook.client import WebhookError

if TYPE_CHECKING:
    from apiext.base.webhook.client import WebhookClient

_LOG: Final = get_logger(__name__)
LOOK_SECONDS: Final = 30.0
"""Seconds between questions about the host's discovery: it may start again with the feature gate."""
_ROUNDS: Final = 20
"""Questions about discovery for each one about metrics, which cost the host more."""
_LONGEST: Final = 30.0
"""Seconds to receive the host's metrics."""
_UNKNOWN: Final = "the host has not answered yet whether it authorizes with conditions"


class HostConditions:
    """Whether the host authorizes with conditions. Until it has answered, it may."""

    def __init__(self, client: WebhookClient) -> None:
        """Call `read` or `follow` to ask the host."""
        self._client = client
        self._rounds = 0
        self._gate = ""
        """What the metrics show."""
        self.found = ""
        """How the host shows that it authorizes with conditions, empty if it does not."""
        self.reason = _UNKNOWN
        """Why proxied requests are not authorized, empty if they are."""

    async def follow(self) -> None:
        """Ask the host from time to time until cancelled."""
        while True:
            await until_tick(LOOK_SECONDS)
            before = self.reason
            await self.read()
            if self.reason and self.reason != before:
                _LOG.error("proxied requests are reviewed: the host authorizes with conditions", reason=self.reason)
            elif before and not self.reason:
                _LOG.info("proxied requests are authorized by the host")

    async def read(self) -> None:
        """Ask the host once. Without an answer the last one holds."""
        try:
            self.found = await self._asked()
        except WebhookError as error:
            _LOG.warning("host not asked whether it authorizes with conditions", error=str(error))
            return
        self.reason = self.found

    async def _asked(self) -> str:
        """Return how the host shows it, empty if it does not. Raises WebhookError without an answer."""
        code, data = await self._client.ask(conditional.DISCOVERY)
        serves = code == 200 and conditional.serves_reviews(_object(data))
        if not serves and self._rounds % _ROUNDS == 0:
            self._gate = await self._gate_in_metrics()
        self._rounds += 1
        return conditional.SERVES_REVIEWS if serves else self._gate

    async def _gate_in_metrics(self) -> str:
        try:
            async with self._client.lines(conditional.METRICS, longest=_LONGEST, silence=_LONGEST) as lines:
                async for line in lines:
                    enabled = conditional.gate_of(line)
                    if enabled is not None:
                        return conditional.HAS_GATE if enabled else ""
        except WebhookError as error:
            if not error.code:
                raise
            # the user may not read them, or the server has none: discovery alone answers
            _LOG.info("metrics of the host cannot be read", error=str(error))
        return ""


def _object(data: bytes) -> dict[str, object]:
    try:
        found = orjson.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
