"""Creations are charged to the quotas of their namespace, those that come at once together.

Mirrors apiserver pkg/admission/plugin/resourcequota/controller.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from apiext.admission.attributes import Attributes
from apiext.admission.resourcequota.access import QuotaAccess
from apiext.admission.resourcequota.quota import Quota, charged, count_name
from apiext.meta import errors
from apiext.meta.tasks import end_tasks

_PATIENCE: Final = 10.0
"""Seconds for a decision."""
_RETRIES: Final = 3
"""How often is decided anew where a quota has changed meanwhile."""
_OUTDATED: Final = frozenset({404, 409})


@dataclass(frozen=True, slots=True)
class _Waiter:
    """A creation that waits for a decision: None, or the refusal."""

    attributes: Attributes
    decision: asyncio.Future[errors.StatusError | None]

    def decide(self, refusal: errors.StatusError | None) -> None:
        if not self.decision.done():
            self.decision.set_result(refusal)


class Evaluator:
    """Decides about creations."""

    def __init__(self, access: QuotaAccess, *, patience: float = _PATIENCE) -> None:
        self._access = access
        self._patience = patience
        self._waiting: dict[str, list[_Waiter]] = {}
        """By namespace; those of a namespace in which nobody is at work are not among them."""
        self._workers: set[asyncio.Task[None]] = set()

    async def evaluate(self, attributes: Attributes) -> None:
        """Charge the creation. Raises StatusError where a quota does not allow it, or cannot be charged."""
        namespace = attributes.namespace
        if self._access.unlimited(namespace, count_name(attributes.resource.group_resource)):
            return
        waiter = _Waiter(attributes, asyncio.get_running_loop().create_future())
        waiting = self._waiting.get(namespace)
        if waiting is None:
            waiting = self._waiting[namespace] = []
            worker = asyncio.create_task(self._work(namespace), name=f"quota-{namespace}")
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        waiting.append(waiter)
        try:
            async with asyncio.timeout(self._patience):
                refusal = await waiter.decision
        except TimeoutError as error:
            raise errors.internal("resource quota evaluation timed out") from error
        if refusal is not None:
            raise refusal

    async def close(self) -> None:
        """Leave what is not decided yet."""
        await end_tasks(*self._workers)

    async def _work(self, namespace: str) -> None:
        """Decide about all that wait, and those who come meanwhile."""
        try:
            while waiters := self._waiting[namespace]:
                self._waiting[namespace] = []
                await self._settle_all(namespace, waiters)
        finally:
            del self._waiting[namespace]

    async def _settle_all(self, namespace: str, waiters: Sequence[_Waiter]) -> None:
        try:
            await self._settle(namespace, waiters)
        except errors.StatusError as error:
            _decide(waiters, error)
        except Exception as error:  # noqa: BLE001 -- those who wait must hear of it, and those who come later be served
            for waiter in waiters:
                if not waiter.decision.done():
                    waiter.decision.set_exception(error)

    async def _settle(self, namespace: str, waiters: Sequence[_Waiter]) -> None:
        """Raises StatusError for all that are not decided yet."""
        quotas = await self._access.quotas(namespace)
        for left in range(_RETRIES, -1, -1):
            waiters, after = _sorted_out(waiters, quotas)
            if not waiters:
                return
            failed = await self._charge(quotas, after)
            if not failed:
                _decide(waiters, None)
                return
            if not left:
                raise list(failed.values())[-1]
            # what was charged stays so: only the rest is looked at again
            quotas = tuple(quota for quota in await self._access.quotas(namespace) if quota.name in failed)

    async def _charge(self, before: Sequence[Quota], after: Sequence[Quota]) -> Mapping[str, errors.StatusError]:
        """Write what has changed; the quotas that could not be written, and why."""
        failed: dict[str, errors.StatusError] = {}
        for old, new in zip(before, after, strict=True):
            if old is new:
                continue
            try:
                await self._access.write(new)
            except errors.StatusError as error:
                failed[new.name] = error
                if error.code in _OUTDATED:
                    # where it cannot be had either, what is followed has to do
                    with suppress(errors.StatusError):
                        await self._access.refresh(new)
        return failed


def _sorted_out(waiters: Sequence[_Waiter], quotas: Sequence[Quota]) -> tuple[list[_Waiter], Sequence[Quota]]:
    """Decide about those that nothing has to be written for; the others, and the quotas as they leave them."""
    to_charge: list[_Waiter] = []
    for waiter in waiters:
        if waiter.decision.done():
            continue
        try:
            after = charged(quotas, waiter.attributes)
        except errors.StatusError as error:
            waiter.decide(error)
            continue
        if waiter.attributes.dry_run or all(old is new for old, new in zip(quotas, after, strict=True)):
            waiter.decide(None)
            continue
        quotas = after
        to_charge.append(waiter)
    return to_charge, quotas


def _decide(waiters: Sequence[_Waiter], refusal: errors.StatusError | None) -> None:
    for waiter in waiters:
        waiter.decide(refusal)
