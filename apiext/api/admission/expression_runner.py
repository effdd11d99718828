"""Evaluates expressions of admission: waits for authorization checks, and keeps long evaluations away from the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.base.scheduling.inline_work import InlineWork, bounded, current_work
from apiext.base.scheduling.side_thread import aside
from apiext.schema.cel.libraries.authorization import AuthorizationAnswer
from apiext.schema.cel.policies.authorization import UnansweredCheckError

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.api.authorization.authorizer import Authorize
    from apiext.schema.cel.policies.authorization import AuthorizationAnswers

T = TypeVar("T")


class ExpressionRunner:
    """Runs evaluations, which are pure functions. They begin again with each answer of an authorization check."""

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    async def run(self, evaluate: Callable[[], T], answers: AuthorizationAnswers, owner: object) -> T:
        """Return the result of an evaluation. One that takes long runs in a thread, or its write in a worker process.

        `owner` is that of `bounded`.
        """
        is_heavy = False
        while True:
            try:
                if current_work().is_limited:
                    return await bounded(evaluate, owner)
                if not is_heavy:
                    with InlineWork():
                        return evaluate()
                    is_heavy = True
                # its write cannot run in a worker process
                return await aside(evaluate)
            except UnansweredCheckError as check:
                await self._answer(check, answers)

    async def _answer(self, check: UnansweredCheckError, answers: AuthorizationAnswers) -> None:
        try:
            verdict = await self._authorize(check.user, check.info)
        except ReviewError as error:
            answer = AuthorizationAnswer(is_allowed=False, error=str(error))
        else:
            answer = AuthorizationAnswer(is_allowed=verdict.decision is Decision.ALLOW, reason=verdict.reason)
        answers.add(check.user, check.info, answer)
