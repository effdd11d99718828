"""Evaluates expressions of admission: waits for authorization checks, and keeps long evaluations away from the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from apiext.api.authorization.authorizer import Decision, ReviewError
from apiext.base.scheduling.bounded_thread import bounded
from apiext.base.scheduling.inline_work import HeavyWorkError, current_work
from apiext.base.scheduling.side_thread import aside
from apiext.schema.cel.libraries.authorization import AuthorizationAnswer
from apiext.schema.cel.policies.authorization import UnansweredCheckError

if TYPE_CHECKING:
    from apiext.api.authorization.authorizer import Authorize
    from apiext.schema.cel.policies.authorization import AuthorizationAnswers

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class PureEvaluation(Protocol[T_co]):
    """An evaluation that may begin again."""

    def __call__(self, *, inline: bool) -> T_co:
        """Evaluate. With `inline`, raise HeavyWorkError instead of taking long."""
        ...


class ExpressionRunner:
    """Runs evaluations, which are pure functions. They begin again with each answer of an authorization check."""

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    async def run(self, evaluate: PureEvaluation[T], answers: AuthorizationAnswers, owner: object) -> T:
        """Return the result of an evaluation. One that takes long runs in a thread, or its write in a worker process.

        `owner` is that of `bounded`.

        Raises:
            HeavyWorkError: the write can run in a worker process, and should.
        """
        inline = True
        while True:
            try:
                if inline:
                    return await bounded(lambda: evaluate(inline=True), owner)
                return await aside(lambda: evaluate(inline=False))
            except UnansweredCheckError as check:
                await self._answer(check, answers)
            except HeavyWorkError:
                if not inline or current_work().is_limited:
                    raise
                inline = False

    async def _answer(self, check: UnansweredCheckError, answers: AuthorizationAnswers) -> None:
        try:
            verdict = await self._authorize(check.user, check.info)
        except ReviewError as error:
            answer = AuthorizationAnswer(is_allowed=False, error=str(error))
        else:
            answer = AuthorizationAnswer(is_allowed=verdict.decision is Decision.ALLOW, reason=verdict.reason)
        answers.add(check.user, check.info, answer)
