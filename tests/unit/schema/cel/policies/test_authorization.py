"""Answers of authorization checks."""

from __future__ import annotations

import pytest

from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.schema.cel.libraries.authorization import AuthorizationAnswer
from apiext.schema.cel.policies.authorization import AuthorizationAnswers, UnansweredCheckError

_INFO = RequestInfo(is_resource=True, verb="get", version="*", resource="pods")


def test_an_unknown_answer_ends_the_evaluation() -> None:
    """The error has the question; with its answer the evaluation succeeds."""
    answers = AuthorizationAnswers()
    user = UserInfo("bob")
    with pytest.raises(UnansweredCheckError) as raised:
        answers.authorizer(user).answer(user, _INFO)
    answers.add(raised.value.user, raised.value.info, AuthorizationAnswer(is_allowed=True))

    assert answers.answer(user, _INFO).is_allowed


def test_equal_checks_have_one_answer() -> None:
    """The order of groups and of extra values makes no difference."""
    answers = AuthorizationAnswers()
    answers.add(UserInfo("bob", ("a", "b"), extra={"k": ("x", "y")}), _INFO, AuthorizationAnswer(is_allowed=True))

    assert answers.answer(UserInfo("bob", ("b", "a"), extra={"k": ("y", "x")}), _INFO).is_allowed
    with pytest.raises(UnansweredCheckError):
        answers.answer(UserInfo("bob", ("a",), extra={"k": ("x", "y")}), _INFO)
