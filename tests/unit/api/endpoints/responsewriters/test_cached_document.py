"""Documents that are encoded, hashed and compressed once."""

import gzip
import hashlib

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.responsewriters.cached_document import Document, accepts_gzip


def test_hashes_the_body() -> None:
    """Return the SHA-512 of the body as the hash unless a tag is given."""
    assert Document(b"x", "text/plain").hash == hashlib.sha512(b"x").hexdigest().upper()
    assert Document(b"x", "text/plain", tag="ABC").etag == '"ABC"'


@pytest.mark.parametrize(
    "header, accepts",
    [("gzip", True), ("deflate, gzip;q=0.5", True), ("gzip;q=0", False), ("GZIP", True), ("br", False), ("", False)],
)
def test_detects_gzip(header: str, *, accepts: bool) -> None:
    """Accept gzip only if named with a quality other than zero."""
    assert accepts_gzip(make_mocked_request("GET", "/", headers={"Accept-Encoding": header})) is accepts


def test_compresses_large_documents() -> None:
    """Compress bodies of at least 128 KiB for clients that accept gzip, and set Vary."""
    request = make_mocked_request("GET", "/", headers={"Accept-Encoding": "gzip"})
    body = b"x" * 128 * 1024

    small = Document(body[1:], "text/plain").reply(request)
    large = Document(body, "text/plain").reply(request, headers={"Vary": "Accept"})

    assert b"".join(small.parts) == body[1:]
    assert gzip.decompress(b"".join(large.parts)) == body
    assert large.extra_headers["Vary"] == "Accept, Accept-Encoding"
