"""The admission plug-in ResourceQuota: charges creates to the quotas of their namespace, concurrent ones in one batch.

Mirrors apiserver pkg/admission/plugin/resourcequota (admission.go, controller.go).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.admission.resourcequota.access import QuotaAccess
from apiext.api.admission.resourcequota.quota import Quota, charged, count_name
from apiext.base.meta import errors
from apiext.base.meta.request import AdmissionOperation
from apiext.base.scheduling.tasks import end_tasks

_TIMEOUT: Final = 10.0
"""Maximum of seconds for the decision about a create."""
_RETRIES: Final = 3
"""Retries after a quota has changed."""
_OUTDATED: Final = frozenset({404, 409})


@dataclass(frozen=True, slots=True)
class _Waiter:
    """A create that waits for its decision: None for admission, else the error."""

    attributes: Attributes
    decision: asyncio.Future[errors.StatusError | None]

    def decide(self, rejection: errors.StatusError | None) -> None:
        if not self.decision.done():
            self.decision.set_result(rejection)


class Evaluator:
    """Decides about creates with one worker task for each namespace."""

    def __init__(self, access: QuotaAccess, *, timeout: float = _TIMEOUT) -> None:
        self._access = access
        self._timeout = timeout
        self._waiting: dict[str, list[_Waiter]] = {}
        """Creates by namespace; a namespace without a worker has no entry."""
        self._workers: set[asyncio.Task[None]] = set()

    async def evaluate(self, attributes: Attributes) -> None:
        """Charge a create to the quotas.

        Raises:
            StatusError: 403 if a quota forbids it, 500 if the decision takes too long, or the error of a failed update.
        """
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
            async with asyncio.timeout(self._timeout):
                rejection = await waiter.decision
        except TimeoutError as error:
            raise errors.internal("resource quota evaluation timed out") from error
        if rejection is not None:
            raise rejection

    async def close(self) -> None:
        """Cancel the workers. Waiting creates get no decision."""
        await end_tasks(*self._workers)

    async def _work(self, namespace: str) -> None:
        """Decide batches of creates until none waits."""
        try:
            while waiters := self._waiting[namespace]:
                self._waiting[namespace] = []
                await self._decide_batch(namespace, waiters)
        finally:
            del self._waiting[namespace]

    async def _decide_batch(self, namespace: str, waiters: Sequence[_Waiter]) -> None:
        try:
            await self._evaluate(namespace, waiters)
        except errors.StatusError as error:
            _decide(waiters, error)
        except Exception as error:  # noqa: BLE001 -- the waiting creates fail with it, later ones are evaluated
            for waiter in waiters:
                if not waiter.decision.done():
                    waiter.decision.set_exception(error)

    async def _evaluate(self, namespace: str, waiters: Sequence[_Waiter]) -> None:
        """Decide a batch. Raises StatusError for all creates that still have no decision."""
        quotas = await self._access.quotas(namespace)
        for left in range(_RETRIES, -1, -1):
            waiters, after = _checked(waiters, quotas)
            if not waiters:
                return
            failed = await self._charge(quotas, after)
            if not failed:
                _decide(waiters, None)
                return
            if not left:
                raise list(failed.values())[-1]
            # written quotas stay charged: check only the others again
            quotas = tuple(quota for quota in await self._access.quotas(namespace) if quota.name in failed)

    async def _charge(self, before: Sequence[Quota], after: Sequence[Quota]) -> Mapping[str, errors.StatusError]:
        """Write the changed quotas; return the errors of failed writes by quota name."""
        failed: dict[str, errors.StatusError] = {}
        for old, new in zip(before, after, strict=True):
            if old is new:
                continue
            try:
                await self._access.write(new)
            except errors.StatusError as error:
                failed[new.name] = error
                if error.code in _OUTDATED:
                    # if the live read fails, the retry uses the cached quota
                    with suppress(errors.StatusError):
                        await self._access.refresh(new)
        return failed


def _checked(waiters: Sequence[_Waiter], quotas: Sequence[Quota]) -> tuple[list[_Waiter], Sequence[Quota]]:
    """Decide the creates that need no write; return the other creates, and the quotas charged with them."""
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


def _decide(waiters: Sequence[_Waiter], rejection: errors.StatusError | None) -> None:
    for waiter in waiters:
        waiter.decide(rejection)


class ResourceQuota(Admission):
    """Rejects creates (403) that exceed a quota of the namespace, and charges the others."""

    name = "ResourceQuota"
    operations = frozenset({AdmissionOperation.CREATE})

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    async def validate(self, attributes: Attributes) -> None:
        """Charge a create.

        Raises:
            StatusError: as Evaluator.evaluate.
        """
        if attributes.namespace and not attributes.subresource:
            await self._evaluator.evaluate(attributes)
