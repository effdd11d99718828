"""The authorities in a PEM text, read without loading a library for them."""

from __future__ import annotations

import re
import ssl
import time
from dataclasses import dataclass
from typing import Final

_BLOCK: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Authority:
    """One certificate of an authority."""

    end: str
    """As openssl writes moments."""

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return ssl.cert_time_to_seconds(self.end) < time.time()


def read(pem: str) -> list[Authority]:
    """The authorities in a text that has certificates, some of which may be those of servers.

    Raises:
        ValueError: there is no certificate, or one that cannot be read.
    """
    if not _BLOCK.search(pem):
        raise ValueError("it holds no certificate in PEM")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=pem)
    except ssl.SSLError as error:
        raise ValueError(f"a certificate in it cannot be read ({error.reason or error})") from error
    return [Authority(str(one["notAfter"])) for one in context.get_ca_certs()]


def certificates(pem: str) -> frozenset[bytes]:
    """The certificates in a text that can be read, in DER."""
    found = set()
    for block in _BLOCK.findall(pem):
        try:
            found.add(ssl.PEM_cert_to_DER_cert(block))
        except ValueError:
            continue
    return frozenset(found)
