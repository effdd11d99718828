"""Events on the host; repeated events are counted (client-go tools/record, EventCorrelator)."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from apiext.base.meta.log import get_logger
from apiext.base.meta.time import now
from apiext.operator.api_clients import ApiClient, ApiError, Json

COMPONENT: Final = "apiext-operator"
"""The reporting component of operators."""
_LOG: Final = get_logger(__name__)
_NAMESPACE: Final = "default"
"""The namespace of events about objects without a namespace."""
_EVENTS: Final = f"/api/v1/namespaces/{_NAMESPACE}/events"
_MAX_CACHED: Final = 1000
"""Maximum of remembered events."""
_REPEAT_SECONDS: Final = 300.0
"""Seconds in which a repeated event is not sent again."""
_MAX_MESSAGE: Final = 1024
"""Characters of a message."""


@dataclass(slots=True)
class _Recorded:
    name: str
    count: int
    moment: float


class EventRecorder:
    """Records events about objects without a namespace. A failure is logged, never raised."""

    def __init__(
        self,
        host: ApiClient,
        *,
        instance: str,
        component: str = COMPONENT,
        clock: Callable[[], float] = time.monotonic,
        on_event: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        """Create the recorder. `on_event` is called with the reason of each event, also of one that is not sent again."""
        self._host = host
        self._reporter = {"reportingComponent": component, "reportingInstance": instance}
        self._clock = clock
        self._on_event = on_event
        self._recorded: OrderedDict[tuple[str, str, str], _Recorded] = OrderedDict()

    async def record(self, about: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an event about an object, unless the same event was recorded in the last 300 s."""
        self._on_event(reason)
        key = (about["metadata"].get("uid") or about["metadata"]["name"], reason, message)
        last, moment = self._recorded.get(key), self._clock()
        if last is not None and moment < last.moment + _REPEAT_SECONDS:
            return
        try:
            if last is not None and await self._increment(last):
                last.moment = moment
                return
            event = _event(about, reason, message[:_MAX_MESSAGE], self._reporter, warning=warning)
            await self._host.post(_EVENTS, event)
        except ApiError as error:
            _LOG.warning("event not recorded on the host", reason=reason, message=message, error=str(error))
            return
        self._recorded[key] = _Recorded(event["metadata"]["name"], 1, moment)
        if len(self._recorded) > _MAX_CACHED:
            self._recorded.popitem(last=False)

    async def _increment(self, last: _Recorded) -> bool:
        try:
            await self._host.patch(f"{_EVENTS}/{last.name}", {"count": last.count + 1, "lastTimestamp": now()})
        except ApiError as error:
            if error.code == 404:
                return False
            raise
        last.count += 1
        return True


def reference(found: Json) -> Json:
    """Return an ObjectReference to an object. CRDs and APIServices of a list have no kind."""
    definition = "names" in found.get("spec", {})
    group, kind = ("apiextensions.k8s.io", "CustomResourceDefinition") if definition else ("apiregistration.k8s.io", "APIService")
    metadata = found["metadata"]
    fields = {name: metadata[name] for name in ("name", "uid", "resourceVersion") if name in metadata}
    return {"apiVersion": found.get("apiVersion", f"{group}/v1"), "kind": found.get("kind", kind), **fields}


def _event(about: Json, reason: str, message: str, reporter: Mapping[str, str], *, warning: bool) -> Json:
    moment = now()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['metadata']['name'][:200]}.{secrets.token_hex(8)}", "namespace": _NAMESPACE},
        "involvedObject": reference(about),
        "reason": reason,
        "message": message,
        "type": "Warning" if warning else "Normal",
        "source": {"component": reporter["reportingComponent"]},
        **reporter,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
