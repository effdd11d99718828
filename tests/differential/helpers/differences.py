"""Fails a test with the differences between the responses of both servers."""

from collections.abc import Iterable, Sequence

from hack.lib.differential.pair import Pair, Step


def compared(pair: Pair, steps: Iterable[Step]) -> None:
    """Fail with every difference between the responses."""
    assert_none([line for step in steps for line in pair.differences(step)])


def assert_none(found: Sequence[str]) -> None:
    """Fail with the differences if there are any."""
    if found:
        raise AssertionError(f"{len(found)} differences:\n" + "\n".join(found))
