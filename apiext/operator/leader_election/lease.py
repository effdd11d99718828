"""Which of several operators acts: the one that holds the lease (client-go tools/leaderelection).

Clocks are never compared: a lease has ended when it has not been renewed for its time as this process has seen it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.operator.api_clients import ApiError

if TYPE_CHECKING:
    from apiext.operator.api_clients import Api, Json

NAME: Final = "apiext-operator"
_LOG: Final = get_logger(__name__)
_RELEASE: Final = 5.0
_JITTER: Final = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds: how long a lease is good, how long it is tried to renew it, and how often."""

    lease: float = 15.0
    renew: float = 10.0
    retry: float = 2.0


@dataclass(frozen=True, slots=True)
class Observed:
    """A lease, and when it was first seen so."""

    holder: str = ""
    renewed: str = ""
    transitions: int = 0
    seconds: float = 0.0
    since: float = 0.0

    def seen(self, lease: Json, moment: float) -> Observed:
        """What is known after it was read."""
        spec = lease.get("spec") or {}
        fields = (
            spec.get("holderIdentity") or "",
            spec.get("renewTime") or "",
            spec.get("leaseTransitions") or 0,
            float(spec.get("leaseDurationSeconds") or 0),
        )
        if fields == (self.holder, self.renewed, self.transitions, self.seconds):
            return self
        return Observed(*fields, since=moment)

    def free_for(self, identity: str, moment: float) -> bool:
        """Whether somebody may take it."""
        return self.holder in {"", identity} or moment >= self.since + self.seconds


class Elector:
    """Acts while it holds the lease."""

    def __init__(
        self, host: Api, *, namespace: str, identity: str, timing: Timing | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._host = host
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace
        self.identity = identity
        self._timing = timing or Timing()
        self._clock = clock
        self._observed = Observed()
        self._problem = ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Call `lead` whenever the lease is held, and cancel it when it is not any more, until this is cancelled."""
        while True:
            await self._acquire()
            _LOG.info("this operator acts", lease=f"{self._namespace}/{NAME}", identity=self.identity)
            acting = asyncio.ensure_future(lead())
            renewing = asyncio.create_task(self._renew())
            try:
                await asyncio.wait({acting, renewing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await end_tasks(acting, renewing)
                await self._release()
            _told(acting)
            _LOG.warning("this operator acts no longer", lease=f"{self._namespace}/{NAME}", identity=self.identity)

    async def _acquire(self) -> None:
        told = ""
        while not await self._claimed():
            if self._observed.holder not in {"", told, self.identity}:
                told = self._observed.holder
                _LOG.info("another operator acts", lease=f"{self._namespace}/{NAME}", identity=told)
            await asyncio.sleep(self._timing.retry * (1 + random.random() * (_JITTER - 1)))  # noqa: S311 -- spreads load, guards nothing

    async def _renew(self) -> None:
        """Return when the lease was not renewed for too long, or is another's."""
        renewed = self._clock()
        while self._clock() < renewed + self._timing.renew:
            await asyncio.sleep(self._timing.retry)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(renewed + self._timing.renew - self._clock(), 0.1)):
                    began = self._clock()
                    if await self._claimed():
                        renewed = began
                    elif self._observed.holder != self.identity:
                        return

    async def _claimed(self) -> bool:
        """Whether the lease is this operator's after one attempt."""
        try:
            lease = await self._host.find(f"{self._collection}/{NAME}")
            if lease is None:
                found = await self._host.post(self._collection, self._new())
            else:
                self._observed = self._observed.seen(lease, self._clock())
                if not self._observed.free_for(self.identity, self._clock()):
                    return False
                found = await self._host.put(f"{self._collection}/{NAME}", {**lease, "spec": self._claim(lease)})
        except ApiError as error:
            if error.code != 409 and str(error) != self._problem:
                _LOG.warning("the lease cannot be had", lease=f"{self._namespace}/{NAME}", error=str(error))
            self._problem = str(error) if error.code != 409 else self._problem
            return False
        self._problem = ""
        self._observed = self._observed.seen(found, self._clock())
        return True

    async def _release(self) -> None:
        """Let others have the lease at once."""
        with suppress(TimeoutError, ApiError):
            async with asyncio.timeout(_RELEASE):
                lease = await self._host.find(f"{self._collection}/{NAME}")
                if lease and (lease.get("spec") or {}).get("holderIdentity") == self.identity:
                    spec = {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
                    await self._host.put(f"{self._collection}/{NAME}", {**lease, "spec": spec})

    def _new(self) -> Json:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME, "namespace": self._namespace},
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


def _told(task: asyncio.Future[None]) -> None:
    """Log what went wrong while it acted."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _LOG.error("acting failed", error=f"{type(error).__name__}: {error}")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
