"""Which texts two patterns accept: the same ones, or one of them fewer than the other.

A pattern becomes a program of states, as in RE2. Both programs read all texts in step, one character of each class at a time, and so find
a text that only one of them accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from apiext.resources.comparison.change import Direction

_LAST: Final = 0x10FFFF
_MOST_STATES: Final = 3_000
"""States of a program, and ..."""
_MOST_STEPS: Final = 200_000
"""... those through which both read texts. Larger patterns are not decided."""

_Ranges = tuple[tuple[int, int], ...]
"""The first and the last character of each range."""
_Node = Callable[[int], int]
"""Makes the states of a part of a pattern: takes the state after them, and returns the first one."""
_MATCH: Final = -1
"""The state after the last one."""
_BEGIN: Final = "begin"
_END: Final = "end"

_REPEAT: Final = re.compile(r"(?:([*+?])|\{([0-9]+)(,?)([0-9]*)\})\??")
_TIMES: Final[dict[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_GROUP: Final = re.compile(r"\((?:\?:|\?P?<\w+>)?(?!\?)")
_NAMED: Final = re.compile(r"\[:(\^?)(\w+):\]")
_TO: Final = re.compile(r"-(?=[^]])")
_CLASS: Final = re.compile(r"\\([dswDSW])")
_HEX: Final = re.compile(r"x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\})")
_CONTROLS: Final = dict(zip("afnrtv", "\a\f\n\r\t\v", strict=True))
_WORD: Final = "09AZ__az"
_PERL: Final = {"d": "09", "s": "\t\n\f\r  ", "w": _WORD}
_POSIX: Final = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\0\x7f", "blank": "\t\t  ", "cntrl": "\0\x1f\x7f\x7f", "digit": "09", "graph": "!~",
    "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ", "word": _WORD, "xdigit": "09AFaf",
}  # fmt: skip
"""The classes of RE2, the first and the last character of each range."""


class _UndecidedError(Exception):
    """A pattern is too large, or has flags, boundaries of words or classes of Unicode."""


@lru_cache(maxsize=1024)
def pattern_direction(old: str, new: str) -> Direction | None:
    """Return how a pattern changed: None if it accepts the same texts, CHANGED also if that is not decided."""
    try:
        is_kept, is_more = _compared(_Program(old), _Program(new))
    except (_UndecidedError, RecursionError):
        return Direction.CHANGED
    if is_kept:
        return Direction.WIDENED if is_more else None
    return Direction.CHANGED if is_more else Direction.NARROWED


def _compared(old: _Program, new: _Program) -> tuple[bool, bool]:
    """Return whether a pattern accepts all texts that the old one does, and whether it accepts others."""
    edges = {0, *old.edges(), *new.edges()}
    is_kept, is_more, is_first, steps = True, False, True, 0
    pending, known = [(old.start(), new.start())], set[tuple[frozenset[int], frozenset[int]]]()
    while pending and (is_kept or not is_more):
        before, after = pending.pop()
        accepted = old.accepts(before, begins=is_first), new.accepts(after, begins=is_first)
        is_kept &= accepted != (True, False)
        is_more |= accepted == (False, True)
        is_first = False
        steps += (len(before) + len(after)) * len(edges)
        if steps > _MOST_STEPS:
            raise _UndecidedError
        found = {(old.after(before, edge), new.after(after, edge)) for edge in edges} - known
        known |= found
        pending += found
    return is_kept, is_more


class _Program:
    """The states of a pattern. A set of them is where a reader of a text is."""

    def __init__(self, pattern: str) -> None:
        parser = _Parser(pattern)
        self._first = parser.node()(_MATCH)
        self._states = parser.states

    def edges(self) -> Iterator[int]:
        """Yield the first character of each range, and the first one after it."""
        for reads, _ in self._states:
            if isinstance(reads, tuple):
                for first, last in reads:
                    yield from (first, min(last + 1, _LAST))

    def start(self) -> frozenset[int]:
        """Return the states before the first character."""
        return self._reached([self._first], begins=True)

    def after(self, states: frozenset[int], char: int) -> frozenset[int]:
        """Return the states after a character. A match may begin there, too."""
        if _MATCH in states:
            return states
        found = [self._first]
        for state in states:
            reads, after = self._states[state]
            if isinstance(reads, tuple) and any(first <= char <= last for first, last in reads):
                found += after
        return self._reached(found)

    def accepts(self, states: frozenset[int], *, begins: bool) -> bool:
        """Report whether a text that ends here is accepted. `begins`: it is empty."""
        return _MATCH in self._reached(states, begins=begins, ends=True)

    def _reached(self, states: Iterable[int], *, begins: bool = False, ends: bool = False) -> frozenset[int]:
        """Return the states that read something, or wait for the end of the text; only the last one if it is reached."""
        pending, found = [*states], set[int]()
        seen = {*pending}
        while pending:
            state = pending.pop()
            if state == _MATCH:
                return frozenset({_MATCH})
            reads, after = self._states[state]
            if reads is None or (reads == _BEGIN and begins) or (reads == _END and ends):
                pending += {*after} - seen
                seen |= {*after}
            elif reads != _BEGIN:
                found.add(state)
        return frozenset(found)


class _Parser:
    """Makes the states of a pattern that the server accepts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.states: list[tuple[_Ranges | str | None, tuple[int, ...]]] = []
        """What a state reads, or where in the text it must be, or nothing for a branch; and the next states."""

    def node(self) -> _Node:
        """Return the whole pattern."""
        found = self._alternatives()
        if self._at < len(self._text):
            raise _UndecidedError
        return found

    def _state(self, reads: _Ranges | str | None, *after: int) -> int:
        if len(self.states) >= _MOST_STATES:
            raise _UndecidedError
        self.states.append((reads, after))
        return len(self.states) - 1

    def _reading(self, reads: _Ranges | str) -> _Node:
        return lambda after: self._state(reads, after)

    def _take(self, text: str) -> bool:
        is_here = self._text.startswith(text, self._at)
        self._at += len(text) * is_here
        return is_here

    def _match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def _alternatives(self) -> _Node:
        nodes = [self._sequence()]
        while self._take("|"):
            nodes.append(self._sequence())
        return lambda after: self._state(None, *(node(after) for node in nodes))

    def _sequence(self) -> _Node:
        nodes: list[_Node] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            node = self._operand()
            while found := self._match(_REPEAT):
                sign, least, comma, most = found.groups()
                times = _TIMES[sign] if sign else (int(least), int(most) if most else None if comma else int(least))
                node = self._repeated(node, *times)
            nodes.append(node)
        return lambda after: _joined(nodes, after)

    def _repeated(self, node: _Node, least: int, most: int | None) -> _Node:
        def made(after: int) -> int:
            found = after
            if most is None:
                found = self._state(None)
                self.states[found] = (None, (node(found), after))
            for _ in range((most or 0) - least):
                found = self._state(None, node(found), after)
            return _joined([node] * least, found)

        return made

    def _operand(self) -> _Node:
        if self._text[self._at] == "(":
            if self._match(_GROUP) is None:
                raise _UndecidedError
            found = self._alternatives()
            if not self._take(")"):
                raise _UndecidedError
            return found
        for place, texts in ((_BEGIN, ("^", r"\A")), (_END, ("$", r"\z"))):
            if any(self._take(text) for text in texts):
                return self._reading(place)
        if self._take("["):
            return self._reading(self._class())
        if self._take("."):
            return self._reading(_outside(((10, 10),)))
        return self._reading(self._perl_class() or self._one())

    def _class(self) -> _Ranges:
        is_outside, found = self._take("^"), list[tuple[int, int]]()
        while not found or not self._take("]"):
            if named := self._match(_NAMED):
                found += _ranges(_POSIX.get(named[2], ""), is_outside=bool(named[1]))
            elif several := self._perl_class():
                found += several
            else:
                ((first, last),) = self._one()
                if self._match(_TO):
                    ((_, last),) = self._one()
                found.append((first, last))
        return _outside(found) if is_outside else tuple(found)

    def _perl_class(self) -> _Ranges:
        """Return a class that a letter names, nothing if there is none here."""
        found = self._match(_CLASS)
        return _ranges(_PERL[found[1].lower()], is_outside=found[1].isupper()) if found else ()

    def _one(self) -> _Ranges:
        """Return a character, which may be escaped."""
        if self._take("\\"):
            if number := self._match(_HEX):
                char = int(number[1] or number[2], 16)
            elif (letter := self._char()) in _CONTROLS:
                char = ord(_CONTROLS[letter])
            elif letter.isascii() and not letter.isalnum() and letter != "_":
                char = ord(letter)
            else:
                raise _UndecidedError
        else:
            char = ord(self._char())
        return ((char, char),)

    def _char(self) -> str:
        if self._at >= len(self._text):
            raise _UndecidedError
        self._at += 1
        return self._text[self._at - 1]


def _joined(nodes: Sequence[_Node], after: int) -> int:
    for node in reversed(nodes):
        after = node(after)
    return after


def _ranges(ends: str, *, is_outside: bool) -> _Ranges:
    """Return the ranges between pairs of characters, or what is outside of them."""
    if not ends:
        raise _UndecidedError
    found = tuple(zip(map(ord, ends[::2]), map(ord, ends[1::2]), strict=True))
    return _outside(found) if is_outside else found


def _outside(ranges: Sequence[tuple[int, int]]) -> _Ranges:
    """Return the characters that ranges do not have."""
    found, begin = [], 0
    for first, last in sorted(ranges):
        if first > begin:
            found.append((begin, first - 1))
        begin = max(begin, last + 1)
    return (*found, (begin, _LAST)) if begin <= _LAST else tuple(found)
