"""Pieces of streams."""

import gzip
import zlib

from apiext.api.endpoints.responsewriters.response import Piece


def test_a_compressed_piece_is_read_before_its_end() -> None:
    """Let readers have all data without the last block: Go's waits for the next member at the end of one."""
    data = b'{"type":"ADDED"}\n' * 100
    member = Piece(data).compressed().data

    before_the_end = zlib.decompressobj(wbits=31)
    assert before_the_end.decompress(member[: -len(b"\x03\x00" + b"crc " + b"size")]) == data
    assert not before_the_end.eof
    assert gzip.decompress(member) == data
