"""Encodings of lists that several responses share."""

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from apiext.api.endpoints.responsewriters.shared_encodings import SharedEncodings
from apiext.storage.interface import Item


def items(count: int) -> list[Item]:
    """Return different items."""
    return [Item(key=f"{number}", revision=1, data=b"%d" % number, labels={}, fields={}) for number in range(count)]


def counted(made: list[bytes]) -> Callable[[], Awaitable[list[bytes]]]:
    """Return an encoder whose calls are recorded."""

    async def encode() -> list[bytes]:
        await asyncio.sleep(0)
        made.append(b"made")
        return [b"parts"]

    return encode


async def test_equal_responses_share_an_encoding() -> None:
    """Encode once while equal responses are made or sent, and again when none is left."""
    shared, made, listed = SharedEncodings(), list[bytes](), items(200)

    one, other = await asyncio.gather(*[shared.encoded(listed, "form", counted(made)) for _ in range(2)])
    later = await shared.encoded(listed, "form", counted(made))

    assert one is other is later
    assert one == [b"parts"]
    assert len(made) == 1
    del one, other, later
    # the loop still holds the callbacks of the task that made it
    await asyncio.sleep(0)
    gc.collect()
    await shared.encoded(listed, "form", counted(made))
    assert len(made) == 2


async def test_other_responses_share_nothing() -> None:
    """Encode other items, another form, and short lists by themselves."""
    shared, made, listed = SharedEncodings(), list[bytes](), items(200)

    kept = [await shared.encoded(some, form, counted(made)) for some, form in ((listed, 1), (listed, 2), (listed.copy(), 1))]
    short = items(5)
    kept += [await shared.encoded(short, 1, counted(made)) for _ in range(2)]

    assert len(made) == len(kept) == 5


async def test_a_kept_encoding_holds_its_items() -> None:
    """Never show other items that happen to be at the place of those that were encoded."""
    shared, kept = SharedEncodings(), []
    for number in range(20):
        made = [b"%d" % number]

        async def encode(made: list[bytes] = made) -> list[bytes]:
            return made

        kept.append(await shared.encoded(items(100), 1, encode))

    assert [encoded[0] for encoded in kept] == [b"%d" % number for number in range(20)]


async def test_a_failed_encoding_is_not_kept() -> None:
    """Raise the encoder's error, and encode again for the next response."""
    shared, listed = SharedEncodings(), items(200)

    async def fail() -> list[bytes]:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await shared.encoded(listed, 1, fail)

    assert await shared.encoded(listed, 1, counted([])) == [b"parts"]
