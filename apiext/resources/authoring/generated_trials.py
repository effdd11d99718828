"""Trials of the laws on objects that hypothesis generates, with the smallest counterexample."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import hypothesis
from hypothesis import strategies as st

from apiext.resources.authoring.laws import BrokenLawError, Laws

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.authoring.laws import BrokenLaw
    from apiext.resources.conversion.rules.check.samples import Samples

T = TypeVar("T")


class _DrawnChoices:
    """Makes choices that hypothesis shrinks (implements Choices)."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def pick(self, options: Sequence[T]) -> T:
        """Implement Choices.pick."""
        chosen: T = self._draw(st.sampled_from(options))
        return chosen

    def some(self, options: Sequence[T], most: int) -> Sequence[T]:
        """Implement Choices.some."""
        if not options:
            return []
        chosen = self._draw(st.lists(st.integers(0, len(options) - 1), max_size=most, unique=True))
        return [options[index] for index in sorted(chosen)]

    def integer(self, least: int, most: int) -> int:
        """Implement Choices.integer."""
        number: int = self._draw(st.integers(least, most))
        return number

    def flag(self) -> bool:
        """Implement Choices.flag."""
        chosen: bool = self._draw(st.booleans())
        return chosen

    def matching(self, pattern: str) -> str | None:
        """Implement Choices.matching."""
        try:
            compiled = re.compile(pattern)
        except re.error:
            return None
        text: str = self._draw(st.from_regex(compiled))
        return text


@st.composite
def _objects(draw: Callable[[st.SearchStrategy[Any]], Any], samples: Samples) -> Object:
    found = samples.make(_DrawnChoices(draw))
    hypothesis.assume(found is not None)
    assert found is not None  # noqa: S101 assume has ended the example
    return found


def try_generated(
    laws: Laws, samples: Samples, *, examples: int, seed: int, on_invalid: Callable[[Object, Sequence[str]], None]
) -> BrokenLaw | None:
    """Return the smallest object found that breaks a law, None if none of the examples does.

    `on_invalid` gets each valid object with the reasons why it is invalid after its conversion.
    """

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        suppress_health_check=[*hypothesis.HealthCheck],
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(_objects(samples), st.integers(0, 99))
    def run(obj: Object, change: int) -> None:
        on_invalid(obj, laws.check(obj, change))

    try:
        run()
    except BrokenLawError as error:
        return error.broken
    except hypothesis.errors.Unsatisfiable:
        return None
    return None
