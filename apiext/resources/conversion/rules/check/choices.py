"""Choices that a generator of objects makes: at random, or by a property test that shrinks them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class Choices(Protocol):
    """Makes choices. The first option, the least number and False are the simplest ones."""

    def pick(self, options: Sequence[T]) -> T:
        """Return one of several options."""
        ...

    def some(self, options: Sequence[T], most: int) -> Sequence[T]:
        """Return some of several different options, in their order."""
        ...

    def integer(self, least: int, most: int) -> int:
        """Return a number between two others, which it may be."""
        ...

    def flag(self) -> bool:
        """Return either."""
        ...

    def matching(self, pattern: str) -> str | None:
        """Return a text that may match a pattern, None if there is no way to find one."""
        ...


class RandomChoices:
    """Makes the same choices for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 test data are no secrets

    def pick(self, options: Sequence[T]) -> T:
        """Implement Choices.pick."""
        return self._random.choice(options)

    def some(self, options: Sequence[T], most: int) -> Sequence[T]:
        """Implement Choices.some."""
        chosen = set(self._random.sample(range(len(options)), self._random.randint(0, min(most, len(options)))))
        return [option for index, option in enumerate(options) if index in chosen]

    def integer(self, least: int, most: int) -> int:
        """Implement Choices.integer."""
        return self._random.randint(least, most)

    def flag(self) -> bool:
        """Implement Choices.flag."""
        return self._random.random() < 0.5

    def matching(self, pattern: str) -> str | None:
        """Implement Choices.matching."""
        return None
