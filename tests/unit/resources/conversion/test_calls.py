"""Calls of a conversion webhook by the log of a job."""

import pytest

from apiext.base.meta.errors import StatusError, too_many_requests
from apiext.base.webhook.hook_answers import HookError
from apiext.base.workers.pool import WorkerPool
from apiext.base.workers.restarts import RestartableJob
from apiext.resources.conversion.calls import CountedCalls, LoggedCalls, WebhookCall
from apiext.resources.conversion.metrics import ConversionOutcome, ConversionStats

OUTCOME = ConversionOutcome("widgets.example.com", {"v1"}, "v2", "", 0.1)


class Hook:
    """Answers with what it got, or with an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.bodies: list[bytes] = []
        self.error = error

    async def post(self, body: bytes) -> bytes:
        """Implement Hook.post."""
        self.bodies.append(body)
        if self.error is not None:
            raise self.error
        return b"answer to " + body


def call(number: int, uid: str) -> WebhookCall:
    """Return a call with a number, which begins as its uid says."""
    return WebhookCall(number, uid, float(uid), uid.encode())


async def test_a_second_attempt_gets_the_answer_of_the_first() -> None:
    """Make the call with a number once, and count it once; the answer tells which uid and which time it belongs to."""
    hook, stats = Hook(), ConversionStats()
    calls = LoggedCalls(CountedCalls(hook, stats), RestartableJob(WorkerPool()))
    first = await calls.post(call(1, "7"))
    again, other = await calls.post(call(1, "8")), await calls.post(call(2, "9"))
    for number in (1, 1, 2):
        await calls.observe(number, OUTCOME)

    assert again == first
    assert (first.uid, first.begun, first.data, first.size) == ("7", 7.0, b"answer to 7", 11)
    assert (other.uid, hook.bodies) == ("9", [b"7", b"9"])
    assert sum(sum(histogram.buckets) for histogram in stats.calls.values()) == 2


async def test_a_failed_call_has_an_answer() -> None:
    """Return the error of a webhook with uid and begin of the call, also to a second attempt."""
    hook = Hook(HookError("no", answered=True))
    calls = LoggedCalls(CountedCalls(hook, ConversionStats()), RestartableJob(WorkerPool()))
    first, again = await calls.post(call(1, "7")), await calls.post(call(1, "8"))

    assert again == first
    assert isinstance(first.error, HookError)
    assert (first.uid, str(first.error), first.error.answered, first.data) == ("7", "no", True, b"")
    assert len(hook.bodies) == 1


async def test_a_refused_call_raises() -> None:
    """Raise the Status of a call that must not wait."""
    calls = CountedCalls(Hook(too_many_requests("too many", 1)), ConversionStats())
    with pytest.raises(StatusError, match="too many"):
        await calls.post(call(1, "7"))
