"""Events on the host; what is said again is counted (client-go tools/record, its correlator)."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.meta.time import now
from apiext.operator.api_clients import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.operator.api_clients import Api, Json

COMPONENT: Final = "apiext-operator"
_LOG: Final = get_logger(__name__)
_NAMESPACE: Final = "default"
"""Where the events of objects without a namespace are."""
_EVENTS: Final = f"/api/v1/namespaces/{_NAMESPACE}/events"
_MOST: Final = 1000
_QUIET: Final = 300.0
"""Seconds for which the same is not said again."""
_LONGEST: Final = 1024


@dataclass(slots=True)
class _Said:
    name: str
    count: int
    moment: float


class Recorder:
    """Records events about objects without a namespace. It never fails: what cannot be recorded is logged."""

    def __init__(self, host: Api, *, instance: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._instance = instance
        self._clock = clock
        self._said: OrderedDict[tuple[str, str, str], _Said] = OrderedDict()

    async def record(self, about: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """Say something about an object, unless just that was said a moment ago."""
        key = (about["metadata"].get("uid") or about["metadata"]["name"], reason, message)
        said, moment = self._said.get(key), self._clock()
        if said is not None and moment < said.moment + _QUIET:
            return
        try:
            if said is not None and await self._repeated(said):
                said.moment = moment
                return
            event = _event(about, reason, message[:_LONGEST], instance=self._instance, warning=warning)
            await self._host.post(_EVENTS, event)
        except ApiError as error:
            _LOG.warning("an event cannot be recorded", reason=reason, message=message, error=str(error))
            return
        self._said[key] = _Said(event["metadata"]["name"], 1, moment)
        if len(self._said) > _MOST:
            self._said.popitem(last=False)

    async def _repeated(self, said: _Said) -> bool:
        try:
            await self._host.patch(f"{_EVENTS}/{said.name}", {"count": said.count + 1, "lastTimestamp": now()})
        except ApiError as error:
            if error.code == 404:
                return False
            raise
        said.count += 1
        return True


def reference(found: Json) -> Json:
    """An ObjectReference to a definition or an APIService, which lists do not name by kind."""
    definition = "names" in found.get("spec", {})
    group, kind = ("apiextensions.k8s.io", "CustomResourceDefinition") if definition else ("apiregistration.k8s.io", "APIService")
    metadata = found["metadata"]
    fields = {name: metadata[name] for name in ("name", "uid", "resourceVersion") if name in metadata}
    return {"apiVersion": f"{group}/v1", "kind": kind, **fields}


def _event(about: Json, reason: str, message: str, *, instance: str, warning: bool) -> Json:
    moment = now()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['metadata']['name'][:200]}.{secrets.token_hex(8)}", "namespace": _NAMESPACE},
        "involvedObject": reference(about),
        "reason": reason,
        "message": message,
        "type": "Warning" if warning else "Normal",
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "reportingInstance": instance,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
