"""Certificates read without loading a library for them: a start that finds everything in place is fast."""

from __future__ import annotations

import datetime
import ipaddress
import re
import ssl
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Validity ::= SEQUENCE { notBefore Time, notAfter Time }, a Time in DER being UTCTime before the year 2050 and GeneralizedTime from then on
_VALIDITY: Final = re.compile(rb"\x30[\x1e\x20\x22](?:\x17\x0d|\x18\x0f)(\d{12,14})Z(?:\x17\x0d|\x18\x0f)(\d{12,14})Z")
_SUBJECT_KEY_ID: Final = re.compile(rb"\x55\x1d\x0e\x04\x16\x04\x14(.{20})", re.DOTALL)
_BLOCK: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_DNS_TAG: Final = b"\x82"
_IP_TAG: Final = b"\x87"
_KEY_ID_TAG: Final = b"\x80"


def certificates(pem: str) -> list[str]:
    """The certificates of a PEM text, each in PEM."""
    return [f"{block}\n" for block in _BLOCK.findall(pem)]


def validity(pem: str) -> tuple[datetime.datetime, datetime.datetime] | None:
    """When the first certificate of a PEM text begins and ends to be valid, None where that cannot be told."""
    found = _VALIDITY.search(_der(pem))
    return (_moment(found[1]), _moment(found[2])) if found else None


def end_of_validity(pem: str) -> datetime.datetime | None:
    """When the first certificate of a PEM text ends, None where that cannot be told."""
    found = validity(pem)
    return found[1] if found else None


def covers(pem: str, hosts: Iterable[str]) -> bool:
    """Whether the first certificate of a PEM text names all hosts, each a DNS name or an IP address."""
    der = _der(pem)
    return all(_general_name(host) in der for host in hosts)


def is_issued_by(pem: str, authority: str) -> bool:
    """Whether the first certificate of a PEM text says that the key of an authority, which names its key, has signed it."""
    found = _SUBJECT_KEY_ID.search(_der(authority))
    return found is not None and _tagged(_KEY_ID_TAG, found[1]) in _der(pem)


def _moment(digits: bytes) -> datetime.datetime:
    text = digits.decode() if len(digits) == 14 else f"20{digits.decode()}"
    return datetime.datetime.strptime(f"{text}+0000", "%Y%m%d%H%M%S%z")


def _der(pem: str) -> bytes:
    block = _BLOCK.search(pem)
    if block is None:
        return b""
    try:
        return ssl.PEM_cert_to_DER_cert(block[0])
    except ValueError:
        return b""


def _general_name(host: str) -> bytes:
    try:
        return _tagged(_IP_TAG, ipaddress.ip_address(host).packed)
    except ValueError:
        return _tagged(_DNS_TAG, host.encode())


def _tagged(tag: bytes, value: bytes) -> bytes:
    return tag + bytes([len(value)]) + value
