"""Limits the memory of long selectors. Parsed they take up to 50 times their text, as long as the list or watch runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from apiext.api.endpoints.parameters.query_parameters import Query, text
from apiext.base.meta import errors, limits

_MESSAGE: Final = "too many requests with long selectors, please try again later"
_RETRY_SECONDS: Final = 1
_SELECTORS: Final = ("labelSelector", "fieldSelector", "shardSelector")


class _Budget:
    """The characters of all long selectors in use."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used = 0


_BUDGET: Final = _Budget()


@contextmanager
def selector_budget(query: Query) -> Iterator[None]:
    """Count the selectors of a request while it runs, if they are long.

    Raises:
        StatusError: 429 if other requests use the whole budget.
    """
    size = sum(len(text(query, name)) for name in _SELECTORS)
    if size <= limits.LONG_SELECTOR:
        yield
        return
    if _BUDGET.used + size > limits.MAX_LONG_SELECTORS:
        raise errors.too_many_requests(_MESSAGE, _RETRY_SECONDS)
    _BUDGET.used += size
    try:
        yield
    finally:
        _BUDGET.used -= size
