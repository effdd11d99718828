"""Connections parse in turn."""

import asyncio
import time

import pytest

from apiext.base.scheduling import parse_turns
from apiext.base.scheduling.parse_turns import ParseTurns
from tests.support.event_loop import until


async def test_connections_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse a part of each connection in order; those with more go to the end."""
    monkeypatch.setattr(parse_turns, "SLICE_SECONDS", 60.0)
    turns = ParseTurns(asyncio.get_running_loop())
    parsed: list[str] = []

    def connection(name: str, parts: int) -> None:
        def parse() -> None:
            parsed.append(name)
            if parsed.count(name) < parts:
                turns.take(parse)

        turns.take(parse)

    connection("a", 3)
    connection("b", 1)
    connection("c", 2)
    await until(lambda: len(parsed) == 6)

    assert parsed == ["a", "b", "c", "a", "c", "a"]


async def test_errors() -> None:
    """Report the error of a connection to the event loop, and go on with the others."""
    loop = asyncio.get_running_loop()
    turns = ParseTurns(loop)
    reported: list[BaseException] = []
    loop.set_exception_handler(lambda _loop, context: reported.append(context["exception"]))
    parsed: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    turns.take(fail)
    turns.take(lambda: parsed.append("a"))
    await until(lambda: parsed)
    turns.take(lambda: parsed.append("b"))
    await until(lambda: len(parsed) == 2)

    assert [type(error) for error in reported] == [ZeroDivisionError]


async def _parsed(count: int) -> list[int]:
    """Let connections parse, and return how many have done so after each iteration of the event loop."""
    turns = ParseTurns(asyncio.get_running_loop())
    parsed: list[int] = []
    for number in range(count):
        turns.take(lambda number=number: parsed.append(number))  # type: ignore[misc]
    seen = []
    while len(parsed) < count:
        await asyncio.sleep(0)
        seen.append(len(parsed))
    return seen


async def test_the_event_loop_turns_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse no more than a slice in one iteration of the event loop, however many connections wait."""
    monkeypatch.setattr(time, "perf_counter", iter(range(1000)).__next__)

    assert await _parsed(3) == [1, 2, 3]


async def test_few_connections_continue_to_receive_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave some connections to the next iteration although parsing takes no time: what they receive next is decrypted at once."""
    monkeypatch.setattr(parse_turns, "SLICE_SECONDS", 60.0)

    assert await _parsed(10) == [2, 4, 6, 8, 10]
