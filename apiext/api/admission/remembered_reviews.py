"""Calls of webhooks in writes that start again in a worker process: the second attempt gets the answers of the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.scheduling.inline_work import request_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.api.admission.sources import ReviewAnswer, ReviewCall, ReviewCaller
    from apiext.base.scheduling.inline_work import Memory

_REVIEWS: Final = "admission reviews"


class RememberedReviews:
    """Implements ReviewCaller over another one."""

    def __init__(self, caller: ReviewCaller) -> None:
        self._caller = caller

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Implement ReviewCaller.review."""
        memory, is_again = request_memory()
        if memory is None:
            return await self._caller.review(calls)
        if not is_again:
            answers = await self._caller.review(calls)
            for call, answer in zip(calls, answers, strict=True):
                memory.setdefault((_REVIEWS, call.key), []).append(answer)
            return answers
        known = [_take(memory, call) for call in calls]
        new = [call for call, answer in zip(calls, known, strict=True) if answer is None]
        made = iter(await self._caller.review(new) if new else ())
        return [next(made) if answer is None else answer for answer in known]


def _take(memory: Memory, call: ReviewCall) -> ReviewAnswer | None:
    """Return the answer to the same call of the first attempt, once: an attempt may make equal calls."""
    answers: list[ReviewAnswer] = memory.get((_REVIEWS, call.key)) or []
    return answers.pop(0) if answers else None
