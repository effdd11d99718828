"""Tests of apiext.tools.testkit.eventually."""

from collections.abc import Callable

import pytest

from apiext.tools.testkit.eventually import eventually


def _answers(*answers: object) -> Callable[[], object]:
    waiting = iter(answers)

    def check() -> object:
        answer = next(waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return check


def test_returns_the_first_true_value() -> None:
    """Count errors and false values as not yet."""
    assert eventually(_answers(KeyError("status"), None, [], 7, 8), pause=0.0) == 7


@pytest.mark.parametrize("last,text", [(KeyError("status"), "KeyError: 'status'"), ([], r"\[\]")])
def test_says_what_is_wrong(last: object, text: str) -> None:
    """Name the last error or value."""
    with pytest.raises(AssertionError, match=f"not within 0 s; the last time: {text}"):
        eventually(_answers(last, last), seconds=0.0, pause=0.0)
