"""Decompression of answers."""

import gzip
import tracemalloc

import pytest

from apiext.base.webhook.http1.answer import decompressed
from apiext.base.webhook.http1.failures import BrokenConnectionError, MalformedAnswerError, TooLargeAnswerError

_TEXT = bytes(range(256)) * 100


@pytest.mark.parametrize("pieces", [1, 2, 7, 1000])
def test_members(pieces: int) -> None:
    """Join the contents of all members, however many bytes each has."""
    size = -(-len(_TEXT) // pieces)
    data = b"".join(gzip.compress(_TEXT[first : first + size]) for first in range(0, len(_TEXT), size))

    assert decompressed(data, len(_TEXT)) == _TEXT
    with pytest.raises(TooLargeAnswerError):
        decompressed(data, len(_TEXT) - 1)
    with pytest.raises(BrokenConnectionError):
        decompressed(data[:-1], len(_TEXT))
    with pytest.raises(MalformedAnswerError):
        decompressed(data + b"text", len(_TEXT))


def test_many_empty_members() -> None:
    """Copy no more than a piece of the data for a member: else a small answer would hold the event loop for long."""
    data = gzip.compress(b"") * 5000
    tracemalloc.start()
    try:
        assert decompressed(data, 10) == b""
        assert tracemalloc.get_traced_memory()[1] < len(data)
    finally:
        tracemalloc.stop()
