"""The memory of long selectors."""

from contextlib import ExitStack

import pytest

from apiext.api.endpoints.parameters.selector_budget import selector_budget
from apiext.base.meta import limits
from apiext.base.meta.errors import StatusError


def test_limits_the_long_selectors_of_all_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a long selector while those of others leave no room for it; always accept short ones."""
    monkeypatch.setattr(limits, "LONG_SELECTOR", 10)
    monkeypatch.setattr(limits, "MAX_LONG_SELECTORS", 100)
    long, short = {"labelSelector": ["a" * 40], "fieldSelector": ["b" * 5]}, {"labelSelector": ["a" * 10]}

    with ExitStack() as running:
        running.enter_context(selector_budget(long))
        for _ in range(100):
            running.enter_context(selector_budget(short))
        with selector_budget(long):
            with pytest.raises(StatusError) as refused, selector_budget(long):
                pass
            assert (refused.value.code, refused.value.details) == (429, {"retryAfterSeconds": 1})
            with selector_budget(short):
                pass
        running.enter_context(selector_budget(long))

    with selector_budget(long), selector_budget(long):
        pass
