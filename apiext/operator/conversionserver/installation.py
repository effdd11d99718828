"""Keeps spec.conversion of the CRDs and XRDs that ask for it, while this replica is the leader."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.conversionserver.cluster_objects import WEBHOOK, wish_of
from apiext.operator.conversionserver.webhook_target import changed_conversion
from apiext.operator.host_definitions import amend

if TYPE_CHECKING:
    from apiext.operator.ca_bundle import CABundleSource
    from apiext.operator.conversionserver.cluster_objects import ClusterDefinitions, ConversionHolder
    from apiext.operator.conversionserver.conversions import Conversions
    from apiext.operator.conversionserver.webhook_target import WebhookTarget
    from apiext.operator.reporting.event_recorder import EventRecorder

COMPONENT: Final = "apiext-conversions"
"""The field manager of spec.conversion, the reporting component of events, and the name of the lease."""
_LOG: Final = get_logger(__name__)
_RESYNC_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = (0.5, 60.0)
"""First and longest pause before a CRD that could not be changed is tried again."""
_WORKERS: Final = 4
_CONTESTED: Final = "Another client changes spec.conversion again and again; it is restored a few times a minute at most."

MAX_WRITES: Final = 5
"""Writes of an object within PERIOD_SECONDS. Installation, repairs and a rotation of the certificate take fewer."""
PERIOD_SECONDS: Final = 60.0


class WriteLimit:
    """The latest writes of each object."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._writes: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=MAX_WRITES))

    def note(self, name: str) -> None:
        """Count a write."""
        self._writes[name].append(self._clock())

    def wait(self, name: str) -> float:
        """Return the seconds until an object may be written again, 0 if it may now."""
        writes = self._writes[name]
        return max(0.0, writes[0] + PERIOD_SECONDS - self._clock()) if len(writes) == MAX_WRITES else 0.0

    def forget(self, name: str) -> None:
        """Forget a deleted object."""
        self._writes.pop(name, None)


class Installation:
    """Sets and restores spec.conversion, with the CA bundle of the serving certificate, until cancelled."""

    def __init__(
        self,
        host: ApiClient,
        target: WebhookTarget,
        definitions: ClusterDefinitions,
        conversions: Conversions,
        *,
        source: CABundleSource,
        recorder: EventRecorder,
        needs_bundle: bool,
    ) -> None:
        """Create the session of a leader. Without `needs_bundle` others write the CA bundle, or the system's authorities are trusted."""
        self._host = host
        self._target = target
        self._definitions = definitions
        self._crds = definitions.crds
        self._conversions = conversions
        self._source = source
        self._recorder = recorder
        self._needs_bundle = needs_bundle
        self._limit = WriteLimit()
        self._bundle = ""
        self._distributed: str | None = None
        self._queue: WorkQueue | None = None
        """None until the CA bundle is known."""

    def on_change(self, name: str) -> None:
        """Check a CRD soon, because it or its rules have changed."""
        if self._queue is not None:
            self._queue.add(name)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._source.run())
            await self._crds.synced.wait()
            if self._needs_bundle:
                self._bundle = await self._source.changed("")
            self._queue = WorkQueue(
                self._sync,
                log=_LOG,
                event="spec.conversion not written, retrying",
                key_field="crd",
                retryable=(ApiError,),
                workers=_WORKERS,
                pauses=_RETRY_SECONDS,
            )
            tasks.create_task(self._queue.run())
            tasks.create_task(self._resync(self._queue))
            while self._needs_bundle:
                self._bundle = await self._source.changed(self._bundle)
                self._add_all(self._queue)

    async def _resync(self, queue: WorkQueue) -> None:
        while True:
            self._add_all(queue)
            await asyncio.sleep(_RESYNC_SECONDS)

    def _add_all(self, queue: WorkQueue) -> None:
        for name in self._crds.names():
            queue.add(name)
        self._report_distribution()

    async def _sync(self, name: str) -> float | None:
        """Write spec.conversion of a CRD if it is not as it should be; return the seconds to wait if it may not be written yet.

        Raises:
            ApiError: the cluster does not answer, or refuses the write.
        """
        holder = self._definitions.holder(name)
        if holder is None:
            self._limit.forget(name)
            return None
        await self._report_problem(holder)
        if self._patch(holder.object, holder.crds) is not None:
            name = holder.object["metadata"]["name"]
            if seconds := self._limit.wait(name):
                await self._recorder.record(holder.object, "ConversionContested", _CONTESTED, warning=True)
                return seconds
            found = await self._host.find(f"{holder.collection}/{name}")
            if found is not None:
                await self._write(found, holder)
        self._report_distribution()
        return None

    async def _write(self, found: Json, holder: ConversionHolder) -> None:
        def change(current: Json) -> Json | None:
            patch = self._patch(current, holder.crds)
            if patch is None:
                return None
            # an XRD may not name the strategy None
            return {"spec": {"conversion": None if holder.kind == "XRD" and patch.get("strategy") == "None" else patch}}

        changed = await amend(self._host, found, change, manager=COMPONENT, collection=holder.collection)
        if changed is None or changed is found:
            return
        name, before, after = found["metadata"]["name"], _strategy(found), _strategy(changed)
        self._limit.note(name)
        _LOG.info("spec.conversion written", crd=name, before=before, after=after)
        if before != after:
            await self._recorder.record(changed, "ConversionStrategyChanged", f"spec.conversion.strategy was {before} and is now {after}.")

    def _patch(self, found: Json, crds: Sequence[str]) -> Json | None:
        """Return the patch of spec.conversion of a CRD or XRD, None if it is as it should be for these CRDs."""
        return changed_conversion(found, self._target, self._bundle, usable=all(map(self._is_usable, crds)))

    def _is_usable(self, name: str) -> bool:
        compiled = self._conversions.get(name)
        return compiled is not None and not compiled.problem

    async def _report_problem(self, holder: ConversionHolder) -> None:
        """Record an event about a CRD or XRD that asks for a conversion without valid rules."""
        found = holder.object
        for name in holder.crds if wish_of(found) == WEBHOOK else ():
            compiled = self._conversions.get(name)
            if self._is_usable(name):
                continue
            if compiled is not None:
                await self._recorder.record(found, "ConversionRulesInvalid", f"Conversion {name}: {compiled.problem}", warning=True)
            elif not self._conversions.has_object(name):
                state = "Its objects cannot be read in other versions." if self._target.is_called_by(found["spec"]["conversion"]) else ""
                await self._recorder.record(found, "ConversionMissing", f"There is no Conversion {name}. {state}".rstrip(), warning=True)

    def _report_distribution(self) -> None:
        """Mark the CA bundle as distributed when all CRDs that call this webhook have it, apart from those that nobody keeps.

        Nobody keeps a CRD of an XRD that is gone, or does not call this webhook any more: waiting for it would end with the certificate.
        """
        known = self._definitions.are_known()
        if self._distributed == self._bundle or not known or any(self._lacks_bundle(crd) for crd in self._crds.all()):
            return
        self._distributed = self._bundle
        self._source.mark_distributed(self._bundle)

    def _lacks_bundle(self, crd: Json) -> bool:
        name = crd["metadata"]["name"]
        holder = self._definitions.holder(name)
        if holder is None or not all(self._target.is_called_by(one["spec"]["conversion"]) for one in (crd, holder.object)):
            return False
        return self._patch(holder.object, holder.crds) is not None or self._patch(crd, [name]) is not None


def _strategy(found: Json) -> str:
    return str((found["spec"].get("conversion") or {}).get("strategy") or "None")
