"""The server's side of TLS."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from apiext.server.tls.pki import KeyPair

_VERSIONS: Final = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}


class TLSError(Exception):
    """Keys or certificates that cannot be used; the message is one line that says which."""


def server_context(pair: KeyPair, *, client_cas: Sequence[Path], min_version: str) -> ssl.SSLContext:
    """A context that shows the pair's certificate and lets clients show one of the authorities'.

    A client without a certificate gets in, and is a matter of authentication then; one with a certificate of another
    authority is turned away by TLS.

    Raises:
        TLSError: a file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[min_version]
    context.set_alpn_protocols(["http/1.1"])
    # one ticket serves the one client of a connection; each costs a record on every handshake
    context.num_tickets = 1
    context.verify_mode = ssl.CERT_OPTIONAL
    try:
        context.load_cert_chain(pair.cert, pair.key)
    except (OSError, ValueError) as error:
        raise TLSError(f"{pair.cert} and {pair.key} are no certificate and its key: {error}") from error
    for authority in client_cas:
        try:
            context.load_verify_locations(cafile=authority)
        except (OSError, ValueError) as error:
            raise TLSError(f"{authority} holds no certificates: {error}") from error
    return context
