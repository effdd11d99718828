"""Which texts two patterns accept."""

from __future__ import annotations

import random

import pytest

from apiext.resources.comparison.change import Direction
from apiext.resources.comparison.pattern_languages import pattern_direction
from apiext.schema.pattern import Pattern, PatternError
from tests.support.builders.seeds import seeded

CHANGED, NARROWED, WIDENED = Direction.CHANGED, Direction.NARROWED, Direction.WIDENED
OPPOSITE = {NARROWED: WIDENED, WIDENED: NARROWED}


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("[-a-zSA-Z0-9]", "[-a-zA-Z0-9]", None),
        (r"^\d+$", "^[0-9][0-9]*?$", None),
        (r"^[[:alpha:]]*\z", r"\A(?:[A-Z]|(?P<small>[a-z]))*$", None),
        (r"\.", "[.]", None),
        (r"^[\x41\x{42}]$", "^A$|^B$", None),
        ("", "^.*|x$", None),
        ("a", "b", CHANGED),
        ("^a$", "a", WIDENED),
        ("$^", "$", WIDENED),
        ("^[a-z]{1,63}$", "^[a-z0-9]{1,63}$", WIDENED),
        ("^.{0,253}$", "^.{0,254}$", WIDENED),
        ("^[^]a]$", "^[^a]$", WIDENED),
        ("^.$", r"^[^a]$", CHANGED),
        ("^a{2,}$", "^a{3}a*$", NARROWED),
        ("", "^.*$", NARROWED),
        ("(?i)a", "a", CHANGED),
        (r"\bcat", "cat", CHANGED),
        (r"\pL", r"\p{L}", CHANGED),
        ("^(a{30}){30}(b{30}){30}(c{30}){30}(d{30}){30}$", "^(a{30}){30}(b{30}){30}(c{30}){30}d{900}$", CHANGED),
    ],
)
def test_directions(old: str, new: str, expected: Direction | None) -> None:
    """Find the direction, and the opposite one on the way back."""
    assert pattern_direction(old, new) is expected
    assert pattern_direction(new, old) is (OPPOSITE.get(expected, expected) if expected else None)


def test_random_patterns() -> None:
    """Decide no direction that the texts of RE2 refute."""
    decided = {None: 0, NARROWED: 0, WIDENED: 0}
    for seed in range(3_000):
        rng = seeded(f"pattern{seed}")
        old = random_pattern(rng, 3)
        new = edited(old, rng) if rng.random() < 0.7 else random_pattern(rng, 3)
        try:
            before, after = Pattern(old), Pattern(new)
        except PatternError:
            continue
        direction = pattern_direction(old, new)
        if direction is CHANGED:
            continue
        decided[direction] += old != new
        for text in ("", *("".join(rng.choices("ab0-Z \n_é", k=rng.randint(1, 4))) for _ in range(40))):
            accepted = before.matches(text), after.matches(text)
            assert accepted != (True, False) or direction is NARROWED, (old, new, text)
            assert accepted != (False, True) or direction is WIDENED, (old, new, text)

    assert all(decided.values()), decided


OPERANDS = (
    "a", "b", "0", "-", r"\.", ".", "^", "$", r"\A", r"\z", "[ab]", "[^a]", "[a-zA-Z]", "[-a]", "[a-]", "[]a]", "[^]-]", r"[\d_]", r"\w",
    r"\D", r"\s", "[[:alpha:]]", "[[:^digit:]b]", "[[:space:]]", r"\x61", r"[\x{61}-\x{ff}]", r"\n", "[[]", "é",
    r"[\s\S]", "",
)  # fmt: skip
REPEATS = ("*", "+", "?", "{2}", "{0,1}", "{1,2}", "{1,}", "*?", "{,2}", "{a}")


def random_pattern(rng: random.Random, depth: int) -> str:
    """Return a pattern, most likely one that RE2 reads."""
    kind = rng.random() if depth else 0
    if kind < 0.3:
        return rng.choice(OPERANDS)
    if kind < 0.6:
        return random_pattern(rng, depth - 1) + random_pattern(rng, depth - 1)
    group = rng.choice(("(", "(?:", "(?P<a>", "(?<b>"))
    if kind < 0.8:
        return f"{group}{random_pattern(rng, depth - 1)}|{random_pattern(rng, depth - 1)})"
    return f"{group}{random_pattern(rng, depth - 1)}){rng.choice(REPEATS)}"


def edited(pattern: str, rng: random.Random) -> str:
    """Return a pattern with another operand, a repetition or an alternative."""
    place = rng.randint(0, len(pattern))
    return rng.choice(
        [
            pattern[:place] + rng.choice(OPERANDS) + pattern[place:],
            pattern[:place] + rng.choice(REPEATS) + pattern[place:],
            f"{pattern}|{rng.choice(OPERANDS)}",
            f"^(?:{pattern})$",
            f"(?:{pattern}){rng.choice(REPEATS)}",
            f"(?:{pattern})|(?:{pattern})",
        ]
    )
