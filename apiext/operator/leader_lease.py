"""Leader election with a Lease (client-go tools/leaderelection).

Clocks of different machines are not compared: a lease has expired when this process has not seen a renewal for its duration.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Never

from apiext.base.meta import host_annotations
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.options import LeaseTiming

NAME: Final = "apiext-operator"
"""The lease of operators."""
_LOG: Final = get_logger(__name__)
_RELEASE_SECONDS: Final = 5.0
"""Time limit of the release of the lease at the end."""
_JITTER_FACTOR: Final = 1.2
"""Largest factor by which a retry period is extended."""
SESSION_RETRY_SECONDS: Final = 2.0
"""Pause between two sessions without leader election."""


async def lead_without_election(lead: Callable[[], Awaitable[None]]) -> Never:
    """Run `lead` again and again, also after an error, until cancelled: for a process that has no other replicas."""
    while True:
        try:
            await lead()
        except Exception:  # noqa: BLE001 -- the leader retries whatever the error is
            _LOG.exception("leader session failed, retrying", seconds=SESSION_RETRY_SECONDS)
        await asyncio.sleep(SESSION_RETRY_SECONDS)


@dataclass(frozen=True, slots=True)
class ObservedLease:
    """A lease, and the time at which this process first saw it in this state."""

    holder: str = ""
    renewed: str = ""
    transitions: int = 0
    seconds: float = 0.0
    since: float = 0.0

    def update(self, lease: Json, moment: float) -> ObservedLease:
        """Return the observation after reading the lease."""
        spec = lease.get("spec") or {}
        fields = (
            spec.get("holderIdentity") or "",
            spec.get("renewTime") or "",
            spec.get("leaseTransitions") or 0,
            float(spec.get("leaseDurationSeconds") or 0),
        )
        if fields == (self.holder, self.renewed, self.transitions, self.seconds):
            return self
        return ObservedLease(*fields, since=moment)

    def is_free_for(self, identity: str, moment: float) -> bool:
        """Return whether a replica may take the lease."""
        return self.holder in {"", identity} or moment >= self.since + self.seconds


class LeaderElector:
    """Runs a coroutine while this replica holds the lease."""

    def __init__(
        self,
        host: ApiClient,
        *,
        namespace: str,
        name: str = NAME,
        identity: str,
        timing: LeaseTiming,
        service: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create an elector. `service` is written to the lease: the Service of the installation, as NAMESPACE/NAME."""
        self._annotations = {host_annotations.SERVICE: service} if service else {}
        self._host = host
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._name = name
        self._lease = f"{namespace}/{name}"
        self._namespace = namespace
        self.identity = identity
        self._timing = timing
        self._clock = clock
        self._observed = ObservedLease()
        self._problem = ""

    @property
    def has_read_lease(self) -> bool:
        """Whether this replica has read or written the lease, so that it can take over."""
        return self._observed != ObservedLease()

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Acquire the lease, run `lead`, cancel it when the lease is lost, and start over, until cancelled."""
        while True:
            await self._acquire()
            _LOG.info("leader lease acquired", lease=self._lease, identity=self.identity)
            leading = asyncio.ensure_future(lead())
            renewing = asyncio.create_task(self._renew())
            try:
                await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await end_tasks(leading, renewing)
                await self._release()
            if not leading.cancelled() and (error := leading.exception()):
                _LOG.error("leader session failed, retrying", error=f"{type(error).__name__}: {error}")
            _LOG.warning("leader lease lost", lease=self._lease, identity=self.identity)

    async def _acquire(self) -> None:
        leader = ""
        while not await self._try_acquire():
            if self._observed.holder not in {"", leader, self.identity}:
                leader = self._observed.holder
                _LOG.info("another replica is the leader", lease=self._lease, identity=leader)
            await asyncio.sleep(self._timing.retry * (1 + random.random() * (_JITTER_FACTOR - 1)))  # noqa: S311 -- spreads load, guards nothing

    async def _renew(self) -> None:
        """Renew the lease; return after the renew deadline without success, or when another replica holds it."""
        renewed = self._clock()
        while self._clock() < renewed + self._timing.renew:
            await asyncio.sleep(self._timing.retry)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(renewed + self._timing.renew - self._clock(), 0.1)):
                    began = self._clock()
                    if await self._try_acquire():
                        renewed = began
                    elif self._observed.holder != self.identity:
                        return

    async def _try_acquire(self) -> bool:
        """Try once to acquire or renew the lease; return whether this replica holds it."""
        try:
            lease = await self._host.find(f"{self._collection}/{self._name}")
            if lease is None:
                found = await self._host.post(self._collection, self._new())
            else:
                self._observed = self._observed.update(lease, self._clock())
                if not self._observed.is_free_for(self.identity, self._clock()):
                    return False
                annotations = {**(lease["metadata"].get("annotations") or {}), **self._annotations}
                metadata = {**lease["metadata"], "annotations": annotations}
                claimed = {**lease, "metadata": metadata, "spec": self._claim(lease)}
                found = await self._host.put(f"{self._collection}/{self._name}", claimed)
        except ApiError as error:
            if error.code != 409 and str(error) != self._problem:
                _LOG.warning("leader lease cannot be acquired or renewed", lease=self._lease, error=str(error))
            self._problem = str(error) if error.code != 409 else self._problem
            return False
        self._problem = ""
        self._observed = self._observed.update(found, self._clock())
        return True

    async def _release(self) -> None:
        """Release the lease, so that another replica need not wait for its expiry."""
        with suppress(TimeoutError, ApiError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                lease = await self._host.find(f"{self._collection}/{self._name}")
                if lease and (lease.get("spec") or {}).get("holderIdentity") == self.identity:
                    spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
                    await self._host.put(f"{self._collection}/{self._name}", {**lease, "spec": spec})

    def _new(self) -> Json:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name, "namespace": self._namespace, "annotations": self._annotations},
            "spec": self._claim({}),
        }

    def _claim(self, lease: Json) -> dict[str, Any]:
        spec = lease.get("spec") or {}
        mine = spec.get("holderIdentity") == self.identity
        transitions = spec.get("leaseTransitions") or 0
        now = _now()
        return {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(round(self._timing.lease), 1),
            "acquireTime": spec.get("acquireTime") or now if mine else now,
            "renewTime": now,
            "leaseTransitions": transitions if mine or not lease else transitions + 1,
        }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
