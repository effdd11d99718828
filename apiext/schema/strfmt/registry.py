"""The known formats of strings (strfmt/format.go, apiserver/validation/formats.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from apiext.base.meta import names
from apiext.schema.strfmt import codes, datetimes, mail, network, patterns

Predicate = Callable[[str], bool]

_FORMATS: Mapping[str, Predicate] = MappingProxyType(
    {
        "bsonobjectid": patterns.is_bson_object_id,
        "uri": network.is_request_uri,
        "email": mail.is_email,
        "hostname": network.is_hostname,
        "ipv4": network.is_ipv4,
        "ipv6": network.is_ipv6,
        "cidr": network.is_cidr,
        "mac": network.is_mac,
        "uuid": patterns.is_uuid,
        "uuid3": patterns.is_uuid3,
        "uuid4": patterns.is_uuid4,
        "uuid5": patterns.is_uuid5,
        "isbn": lambda text: codes.is_isbn10(text) or codes.is_isbn13(text),
        "isbn10": codes.is_isbn10,
        "isbn13": codes.is_isbn13,
        "creditcard": codes.is_credit_card,
        "ssn": patterns.is_ssn,
        "hexcolor": patterns.is_hex_color,
        "rgbcolor": patterns.is_rgb_color,
        "byte": patterns.is_base64,
        "password": lambda _: True,  # It only asks clients to hide the value.
        "date": datetimes.is_date,
        "duration": datetimes.is_duration,
        "datetime": datetimes.is_date_time,
        "k8sshortname": lambda text: not names.dns1123_label(text),
        "k8slongname": lambda text: not names.dns1123_subdomain(text),
    }
)


def is_known_format(name: str) -> bool:
    """Return whether a format is known. Ignore dashes in its name."""
    return name.replace("-", "") in _FORMATS


def format_checker(name: str) -> Predicate | None:
    """Return the predicate of a format, None for an unknown one."""
    return _FORMATS.get(name.replace("-", "")) if name else None
