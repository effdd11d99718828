"""Documents that are rendered, hashed and compressed once."""

import gzip
import hashlib

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.endpoints.responsewriters.cached_document import Document, accepts_gzip


def test_hash_is_of_the_body() -> None:
    """Without a hash of its own a document is known by the SHA-512 of its bytes."""
    assert Document(b"x", "text/plain").hash == hashlib.sha512(b"x").hexdigest().upper()
    assert Document(b"x", "text/plain", tag="ABC").etag == '"ABC"'


@pytest.mark.parametrize(
    "header, accepts",
    [("gzip", True), ("deflate, gzip;q=0.5", True), ("gzip;q=0", False), ("GZIP", True), ("br", False), ("", False)],
)
def test_who_accepts_gzip(header: str, *, accepts: bool) -> None:
    """The coding must be named, with a quality other than zero."""
    assert accepts_gzip(make_mocked_request("GET", "/", headers={"Accept-Encoding": header})) is accepts


def test_large_documents_are_compressed() -> None:
    """From the given size on, and only for who reads gzip, the body is compressed and Vary says why."""
    request = make_mocked_request("GET", "/", headers={"Accept-Encoding": "gzip"})
    document = Document(b"x" * 100, "text/plain")

    small = document.reply(request, compress_from=101)
    large = document.reply(request, compress_from=100, headers={"Vary": "Accept"})

    assert b"".join(small.parts) == b"x" * 100
    assert gzip.decompress(b"".join(large.parts)) == b"x" * 100
    assert large._own["Vary"] == "Accept, Accept-Encoding"
