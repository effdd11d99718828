"""Certificates read without loading a library for them: a start that finds everything in place is fast."""

from __future__ import annotations

import datetime
import ipaddress
import re
import ssl
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# Validity ::= SEQUENCE { notBefore UTCTime, notAfter UTCTime }, as DER has it for every year before 2050
_VALIDITY: Final = re.compile(rb"\x30\x1e\x17\x0d\d{12}Z\x17\x0d(\d{12})Z")
_DNS_TAG: Final = b"\x82"
_IP_TAG: Final = b"\x87"


def end_of_validity(pem: str) -> datetime.datetime | None:
    """When the first certificate of a PEM text ends, None where that cannot be told."""
    found = _VALIDITY.search(_der(pem))
    if found is None:
        return None
    moment = datetime.datetime.strptime(found[1].decode(), "%y%m%d%H%M%S")  # noqa: DTZ007 -- UTCTime has no zone
    return moment.replace(tzinfo=datetime.UTC)


def covers(pem: str, hosts: Iterable[str]) -> bool:
    """Whether the first certificate of a PEM text names all hosts, each a DNS name or an IP address."""
    der = _der(pem)
    return all(_general_name(host) in der for host in hosts)


def _der(pem: str) -> bytes:
    begin = pem.find("-----BEGIN CERTIFICATE-----")
    end = pem.find("-----END CERTIFICATE-----")
    if not 0 <= begin < end:
        return b""
    try:
        return ssl.PEM_cert_to_DER_cert(pem[begin : end + len("-----END CERTIFICATE-----")])
    except ValueError:
        return b""


def _general_name(host: str) -> bytes:
    try:
        tag, name = _IP_TAG, ipaddress.ip_address(host).packed
    except ValueError:
        tag, name = _DNS_TAG, host.encode()
    return tag + bytes([len(name)]) + name
