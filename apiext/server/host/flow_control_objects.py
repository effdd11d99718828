"""Follows the FlowSchemas and PriorityLevelConfigurations of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.host_objects import FLOW_SCHEMAS, PRIORITY_LEVELS, HostObjects, strip
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import run_until_closed
from apiext.base.webhook.reflector import Link, Reflector

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.api.flowcontrol.flow_control import FlowControl
    from apiext.base.webhook.client import WebhookClient, WebhookError

_LOG: Final = get_logger(__name__)


def follow_host(control: FlowControl, client: WebhookClient, stack: AsyncExitStack) -> None:
    """Configure flow control with the host's objects until `stack` closes."""
    objects, link = HostObjects(control), _LogOnce()
    run_until_closed(stack, objects.run())
    for collection, follower in ((FLOW_SCHEMAS, objects.schemas), (PRIORITY_LEVELS, objects.levels)):
        run_until_closed(stack, Reflector(client, collection, follower, link=link, reduce=strip).run())


class _LogOnce(Link):
    """Logs only the first failure: a host may always deny access, and flow control works without its objects."""

    logs_failures = True

    def __init__(self) -> None:
        self._logged = False

    def lost(self, error: WebhookError) -> None:
        """Log the first failure."""
        if not self._logged:
            self._logged = True
            _LOG.warning("cannot read the host's flow control objects, using the last known or the mandatory ones", error=str(error))
