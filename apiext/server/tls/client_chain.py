"""A client's certificate, with the intermediate certificates that it sent."""

from __future__ import annotations

import ssl
import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence


def client_certificate(transport: asyncio.BaseTransport | None) -> tuple[Mapping[str, Any], Sequence[bytes]]:
    """Return a connection's client certificate, parsed, and its chain in DER; both are empty without one.

    The chain starts with the certificate and follows the verified path as far as the client sent it. It omits certificates that only the
    server knows: the authorities of a client must not depend on the trust of other clients.
    """
    tls = transport.get_extra_info("ssl_object") if transport is not None else None
    if tls is None or not (certificate := tls.getpeercert()):
        return {}, ()
    verified, sent = _chains(tls)
    # a resumed session has no chains
    return certificate, list(takewhile(sent.__contains__, verified)) or [tls.getpeercert(binary_form=True)]


def _chains(tls: ssl.SSLObject) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """Return the verified chain and the chain that the client sent."""
    if sys.version_info >= (3, 13):
        return tls.get_verified_chain(), tls.get_unverified_chain()
    inner = cast("Any", tls)._sslobj  # noqa: SLF001 -- public since Python 3.13; tests/unit/server/tls/test_client_chain.py
    both = inner.get_verified_chain(), inner.get_unverified_chain()
    verified, sent = ([ssl.PEM_cert_to_DER_cert(one.public_bytes()) for one in chain or ()] for chain in both)
    return verified, sent
