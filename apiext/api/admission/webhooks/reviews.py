"""Makes the calls of webhooks in the server."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from apiext.api.admission.sources import ReviewAnswer
from apiext.base.meta.limits import MAX_HOOK_CALLS, MAX_HOOK_CLIENTS
from apiext.base.scheduling.tracebacks import without_frames
from apiext.base.webhook.circuit_breaker import WaitingCalls
from apiext.base.webhook.client_config import ClientConfig, parse_client_config
from apiext.base.webhook.hook_answers import HookError
from apiext.base.webhook.hook_client import TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.api.admission.sources import HookEntry, ReviewCall
    from apiext.base.webhook.hook_client import HookClient, HookClients

_NO_TIME: Final = "context deadline exceeded"


class _Target:
    """The webhooks with the same address and authorities."""

    def __init__(self, client: HookClient) -> None:
        self.client = client
        self.used = 0
        """When it was called last: a number that grows with each call."""
        self.waiting = WaitingCalls()
        self.places = asyncio.Semaphore(MAX_HOOK_CALLS)


class HookReviews:
    """Implements ReviewCaller. A webhook that does not answer delays only the writes that it concerns."""

    def __init__(self, clients: HookClients) -> None:
        self._clients = clients
        self._known: WeakKeyDictionary[HookEntry, _Target] = WeakKeyDictionary()
        """The targets of entries, found without their addresses."""
        self._targets: dict[ClientConfig, _Target] = {}
        self._calls = 0

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Implement ReviewCaller.review."""
        if len(calls) == 1:
            return [await self._review(calls[0])]
        found = await asyncio.gather(*map(self._review, calls), return_exceptions=True)
        answers: list[ReviewAnswer] = []
        for one in found:
            if isinstance(one, BaseException):
                raise one
            answers.append(one)
        return answers

    async def close(self) -> None:
        """Close the connections; running and later calls fail."""
        await self._clients.close()

    async def _review(self, call: ReviewCall) -> ReviewAnswer:
        begun = time.monotonic()
        data, failure = b"", None
        try:
            data = await _post(self._target(call.hook), call)
        except ValueError as error:
            failure = HookError(f"could not get REST client: {error}", code=500)
        except HookError as error:
            # the connection keeps its error
            without_frames(error)
            failure = HookError(f"failed to call webhook: {error}", answered=error.answered, code=error.code)
        return ReviewAnswer(call.uid, data, failure, time.monotonic() - begun)

    def _target(self, entry: HookEntry) -> _Target:
        target = self._known.get(entry)
        if target is None:
            target = self._known[entry] = self._target_at(parse_client_config(entry.hook["clientConfig"]))
        self._calls += 1
        target.used = self._calls
        return target

    def _target_at(self, config: ClientConfig) -> _Target:
        target = self._targets.get(config)
        if target is None:
            if len(self._targets) >= MAX_HOOK_CLIENTS:
                self._drop_oldest()
            # a webhook must not choose a server in this one's network (CVE-2020-8561)
            target = self._targets[config] = _Target(self._clients.client(config, max_redirects=0))
        return target

    def _drop_oldest(self) -> None:
        """Forget the target that was not called for the longest time."""
        dropped = self._targets.pop(min(self._targets, key=lambda config: self._targets[config].used))
        for entry in [entry for entry, target in self._known.items() if target is dropped]:
            del self._known[entry]


async def _post(target: _Target, call: ReviewCall) -> bytes:
    """Return the answer of a webhook. Raises HookError, or StatusError if too many calls wait for it."""
    with target.waiting as waiting:
        await _take_place(target, call)
        try:
            data = await target.client.post(call.body, _left(call))
        except HookError as error:
            if error.answered:
                waiting.answered()
            raise
        finally:
            target.places.release()
        waiting.answered()
        return data


async def _take_place(target: _Target, call: ReviewCall) -> None:
    """Wait until a webhook may be called. Raises HookError if there is no time left."""
    if not target.places.locked():
        await target.places.acquire()
        return
    try:
        async with asyncio.timeout(_left(call)):
            await target.places.acquire()
    except TimeoutError:
        raise HookError(_NO_TIME) from None


def _left(call: ReviewCall) -> float:
    """Return the seconds that a call may still take."""
    return min(call.deadline - time.monotonic(), TIMEOUT)
