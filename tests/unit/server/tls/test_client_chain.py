"""The certificates of a client."""

import ssl
import sys

import pytest


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="both are public methods of SSLObject")
def test_the_chains_are_where_python_keeps_them() -> None:
    """Read both chains of a connection, which have no public name before Python 3.13."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_side=True)
    inner = tls._sslobj  # type: ignore[attr-defined]  # noqa: SLF001 -- what the test is about

    assert not inner.get_verified_chain()
    assert not inner.get_unverified_chain()
