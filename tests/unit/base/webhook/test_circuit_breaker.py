"""The circuit breaker of a webhook."""

import asyncio

import pytest

from apiext.base.webhook.circuit_breaker import CircuitBreaker
from tests.support.event_loop import until
from tests.support.refusals import refusal


class _SilentError(Exception):
    """The webhook does not answer."""


class Webhook:
    """A webhook behind a breaker, and a clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.calls = 0
        self.dead = False
        self.refusing = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.changes: list[bool] = []
        """Whether the circuit was open after each change."""
        self.breaker = CircuitBreaker(lambda error: isinstance(error, _SilentError), changed=self._changed, clock=lambda: self.now)

    def _changed(self, breaker: CircuitBreaker) -> None:
        self.changes.append(breaker.error is not None)

    async def _answer(self) -> str:
        self.calls += 1
        await self.gate.wait()
        if self.dead:
            raise _SilentError("refused")
        if self.refusing:
            raise ValueError("odd")
        return "converted"

    def due(self) -> bool:
        """Report whether the next call would be a probe."""
        return self.breaker.probe_due

    async def call(self) -> str:
        """Call the webhook through the breaker; return the text of its failure instead of raising it."""
        try:
            return await self.breaker.call(self._answer)
        except (_SilentError, ValueError) as error:
            return str(error)


@pytest.fixture
def webhook() -> Webhook:
    """Return a webhook that answers."""
    return Webhook()


async def test_opens_after_failures_in_a_row(webhook: Webhook) -> None:
    """Call a webhook that fails now and then, and stop after three failures in a row with the last one as the answer."""
    for dead in (True, True, False, True, True):
        webhook.dead = dead
        await webhook.call()
    assert webhook.breaker.error is None
    await webhook.call()
    calls = webhook.calls

    assert await webhook.call() == "refused"
    assert webhook.calls == calls
    assert webhook.changes == [False, True]


async def test_a_refusal_is_an_answer(webhook: Webhook) -> None:
    """Keep the circuit closed when the webhook answers that it cannot convert."""
    webhook.refusing = True
    assert [await webhook.call() for _ in range(5)] == ["odd"] * 5
    assert webhook.calls == 5
    assert webhook.changes == [False]


async def test_probes_one_call_at_a_time(webhook: Webhook) -> None:
    """Let one call through after the pause, and the rest only when it has succeeded."""
    webhook.dead = True
    for _ in range(3):
        await webhook.call()
    assert not webhook.due()
    webhook.now += 1.0
    assert webhook.due()
    webhook.gate.clear()
    probe = asyncio.create_task(webhook.call())
    await asyncio.sleep(0)
    assert await webhook.call() == "refused"
    webhook.dead = False
    webhook.gate.set()

    assert await probe == "converted"
    assert webhook.calls == 4
    assert await webhook.call() == "converted"
    assert webhook.changes == [True, False]


async def test_failed_probes_lengthen_the_pause(webhook: Webhook) -> None:
    """Double the pause with each failed probe, up to a bound."""
    webhook.dead = True
    for _ in range(3):
        await webhook.call()
    pauses = []
    for _ in range(7):
        begin = webhook.now
        while not webhook.due():
            webhook.now += 0.5
        await webhook.call()
        pauses.append(webhook.now - begin)
    assert pauses == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]


async def test_a_cancelled_probe_makes_room_for_the_next(webhook: Webhook) -> None:
    """Probe again when the caller of a probe was cancelled."""
    webhook.dead = True
    for _ in range(3):
        await webhook.call()
    webhook.now += 1.0
    webhook.gate.clear()
    probe = asyncio.create_task(webhook.call())
    await asyncio.sleep(0)
    assert not webhook.due()
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    assert webhook.due()


async def test_a_reader_without_a_call_probes(webhook: Webhook) -> None:
    """Repeat the latest failed call when a probe is due, and only then."""
    webhook.breaker.probe()
    webhook.dead = True
    for _ in range(3):
        await webhook.call()
    webhook.breaker.probe()
    webhook.dead = False
    webhook.now += 1.0
    webhook.breaker.probe()
    await until(lambda: webhook.breaker.error is None)
    assert webhook.calls == 4


async def test_few_calls_wait_for_a_silent_webhook(webhook: Webhook) -> None:
    """Let any number of calls wait for an answer that comes soon, and 64 for one that does not."""
    webhook.gate.clear()
    calls = [asyncio.create_task(webhook.call()) for _ in range(100)]
    await until(lambda: webhook.calls == 100)
    webhook.now += 6.0
    refused = await refusal(webhook.call())
    assert refused.code == 429
    webhook.gate.set()
    assert set(await asyncio.gather(*calls)) == {"converted"}
    assert await webhook.call() == "converted"
