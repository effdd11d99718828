"""Header blocks: the decoder and the encoder against `hpack`, an implementation that shares no code but its tables with them."""

from typing import Any

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.http2.frames import COMPRESSION_ERROR, Http2ProtocolError
from apiext.server.http.http2.header_decoder import HeaderDecoder, LargeHeadError
from apiext.server.http.http2.header_encoder import encode_head
from apiext.server.http.request_parser import CLIENT, HeadLimits

_TEXTS = st.text(st.characters(min_codepoint=1, max_codepoint=255, exclude_characters="\r\n"), max_size=80)
_NAMES = st.sampled_from([":path", ":method", "accept", "user-agent", "x-remote-user", "x-remote-group"]) | _TEXTS
_HEAD = st.lists(st.tuples(st.from_regex(r"[A-Za-z-]{1,20}", fullmatch=True), _TEXTS | st.just("x" * 300)), max_size=20)
_FIELDS = st.lists(st.tuples(_NAMES, _TEXTS, st.booleans()), max_size=20)


def decoded(decoder: HeaderDecoder, block: bytes) -> list[tuple[bytes, bytes]]:
    """Return the names and values of a block."""
    return [field.raw for field in decoder.decode(block)]


@given(st.lists(st.tuples(_FIELDS, st.booleans(), st.sampled_from([None, 0, 100, 4096])), max_size=6))
def test_decodes_what_hpack_encodes(blocks: list[tuple[list[tuple[str, str, bool]], bool, int | None]]) -> None:
    """Follow the table over several blocks, with and without Huffman's code, and when its size changes."""
    encoder, decoder = hpack.Encoder(), HeaderDecoder(CLIENT)
    for fields, huffman, size in blocks:
        if size is not None:
            encoder.header_table_size = size
        block = encoder.encode([(name, value, sensitive) for name, value, sensitive in fields], huffman=huffman)
        assert decoded(decoder, block) == [(name.encode(), value.encode()) for name, value, _ in fields]


@given(st.integers(100, 599), _HEAD)
def test_hpack_decodes_what_is_encoded(status: int, fields: list[tuple[str, str]]) -> None:
    """Encode heads that any decoder takes, none of which depends on another one."""
    block = encode_head(status, fields)
    decoder = hpack.Decoder()
    decoder.header_table_size = 0
    expected = [(b":status", b"%d" % status), *((name.lower().encode(), value.encode()) for name, value in fields)]
    assert [tuple(field) for field in decoder.decode(block, raw=True)] == expected


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(block: bytes) -> None:
    """Fail in the ways that a connection expects, and agree with hpack about what is valid."""
    try:
        fields: Any = decoded(HeaderDecoder(CLIENT), block)
    except Http2ProtocolError:
        return
    assert [tuple(field) for field in hpack.Decoder().decode(block, raw=True)] == fields


@pytest.mark.parametrize(
    "block",
    [
        b"\x80",
        b"\xbe",
        b"\x82\x20",
        b"\x3f\xe2\x1f",
        b"\x40",
        b"\x40\x01",
        b"\x40\x01a\x05abc",
        b"\x00\x81\x00\x00",
        b"\xff\xff\xff\xff\xff\xff\xff",
    ],
    ids=["index-0", "no-entry", "late-resize", "large-table", "no-name", "short-name", "short-value", "huffman", "integer"],
)
def test_refuses_blocks(block: bytes) -> None:
    """Refuse what cannot be decoded."""
    with pytest.raises(Http2ProtocolError) as caught:
        HeaderDecoder(CLIENT).decode(block)
    assert caught.value.code == COMPRESSION_ERROR


@pytest.mark.parametrize("limits, count", [(HeadLimits(1000, 10), 11), (HeadLimits(10, 1000), 3)])
def test_decodes_a_large_head_to_its_end(limits: HeadLimits, count: int) -> None:
    """Keep the table right for the next block."""
    encoder, decoder = hpack.Encoder(), HeaderDecoder(limits)
    with pytest.raises(LargeHeadError):
        decoder.decode(encoder.encode([(f"name{number}", "") for number in range(count)]))
    assert decoded(decoder, encoder.encode([("name2", "")])) == [(b"name2", b"")]


def test_counts_changes_of_the_table() -> None:
    """Tell whether equal blocks still have equal fields."""
    encoder, decoder = hpack.Encoder(), HeaderDecoder(CLIENT)
    decoder.decode(encoder.encode([("a", "b")]))
    known = decoder.changes
    decoder.decode(encoder.encode([("a", "b")]))
    assert decoder.changes == known > 0
    decoder.decode(encoder.encode([("a", "c")]))
    assert decoder.changes > known


def test_refuses_line_breaks() -> None:
    """Let no value of a response begin another field."""
    with pytest.raises(ValueError, match="line break"):
        encode_head(200, [("a", "b\r\nc: d")])
