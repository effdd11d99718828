"""Reads certificates in PEM.

The first certificate imports cryptography, which takes about 50 ms. A server with certificates from files reads none before it is
ready.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable

    from cryptography.x509 import Certificate

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"


def certificates(pem: str) -> list[str]:
    """Return each certificate of a PEM text as its own PEM text, without text between certificates and without other blocks."""
    blocks = (block.rpartition(_BEGIN) for block in pem.split(_END)[:-1])
    return [f"{_BEGIN}{body}{_END}\n" for _before, begin, body in blocks if begin]


def validity(pem: str) -> tuple[datetime.datetime, datetime.datetime] | None:
    """Return notBefore and notAfter of the first certificate of a PEM text, None if it is unreadable."""
    found = _load(pem)
    return (found.not_valid_before_utc, found.not_valid_after_utc) if found else None


def end_of_validity(pem: str) -> datetime.datetime | None:
    """Return notAfter of the first certificate of a PEM text, None if it is unreadable."""
    found = _load(pem)
    return found.not_valid_after_utc if found else None


def hosts_of(pem: str) -> list[str]:
    """Return the subject alternative names of the first certificate of a PEM text, empty if it is unreadable."""
    found = _load(pem)
    if found is None:
        return []
    from cryptography import x509

    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return []
    return [str(name.value) for name in names]


def covers(pem: str, hosts: Iterable[str]) -> bool:
    """Return whether the first certificate of a PEM text names all hosts, each a DNS name or an IP address."""
    names = set(hosts_of(pem))
    return all(_canonical(host) in names for host in hosts)


def is_issued_by(pem: str, authority: str) -> bool:
    """Return whether the first certificate of an authority's PEM text signed the first certificate of a PEM text."""
    found, issuer = _load(pem), _load(authority)
    if found is None or issuer is None:
        return False
    from cryptography.exceptions import InvalidSignature

    try:
        found.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _load(pem: str) -> Certificate | None:
    if _BEGIN not in pem:
        return None
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(pem.encode())
    except ValueError:
        return None


def _canonical(host: str) -> str:
    """Return an IP address in its shortest form, as in certificates, and any other host unchanged."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return host
