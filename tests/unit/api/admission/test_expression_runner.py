"""Evaluations of expressions that wait for authorization checks, or take long."""

from __future__ import annotations

import threading

import pytest

from apiext.api.admission.expression_runner import ExpressionRunner
from apiext.api.authorization.authorizer import ALLOWED, Decision, ReviewError, Verdict
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork, current_work
from apiext.schema.cel.policies.authorization import AuthorizationAnswers

_USER = UserInfo("bob")


async def _authorize(_user: UserInfo, info: RequestInfo) -> Verdict:
    if info.verb == "fail":
        raise ReviewError("no authorizer")
    return ALLOWED if info.verb == "get" else Verdict(Decision.DENY, "never")


async def test_checks_are_answered_one_by_one() -> None:
    """The evaluation begins again after each answer."""
    answers = AuthorizationAnswers()
    begun = 0

    def evaluate() -> list[object]:
        nonlocal begun
        begun += current_work().is_limited
        checked = [answers.answer(_USER, RequestInfo(verb=verb)) for verb in ("get", "post", "fail")]
        return [(answer.is_allowed, answer.reason, answer.error) for answer in checked]

    found = await ExpressionRunner(_authorize).run(evaluate, answers, evaluate)

    assert found == [(True, "", None), (False, "never", None), (False, "", "no authorizer")]
    assert begun == 4


def _heavy() -> str:
    current_work().decline()
    return threading.current_thread().name


async def test_a_long_evaluation_runs_beside_the_event_loop() -> None:
    """In a thread; a write that can run in a worker process goes there instead."""
    runner, answers = ExpressionRunner(_authorize), AuthorizationAnswers()

    assert (await runner.run(_heavy, answers, _heavy)).startswith("aside")
    with InlineWork(), pytest.raises(HeavyWorkError):
        await runner.run(_heavy, answers, _heavy)
