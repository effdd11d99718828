"""The known formats of strings (strfmt/format.go, apiserver/validation/formats.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from apiext.schema.strfmt import codes, datetimes, identifiers, mail, network, urls

Predicate = Callable[[str], bool]

_FORMATS: Mapping[str, Predicate] = MappingProxyType(
    {
        "bsonobjectid": identifiers.is_bson_object_id,
        "uri": urls.is_request_uri,
        "email": mail.is_email,
        "hostname": network.is_hostname,
        "ipv4": network.is_ipv4,
        "ipv6": network.is_ipv6,
        "cidr": network.is_cidr,
        "mac": network.is_mac,
        "uuid": identifiers.is_uuid,
        "uuid3": identifiers.is_uuid3,
        "uuid4": identifiers.is_uuid4,
        "uuid5": identifiers.is_uuid5,
        "isbn": codes.is_isbn,
        "isbn10": codes.is_isbn10,
        "isbn13": codes.is_isbn13,
        "creditcard": codes.is_credit_card,
        "ssn": codes.is_ssn,
        "hexcolor": codes.is_hex_color,
        "rgbcolor": codes.is_rgb_color,
        "byte": codes.is_base64,
        "password": codes.is_password,
        "date": datetimes.is_date,
        "duration": datetimes.is_duration,
        "datetime": datetimes.is_date_time,
        "k8sshortname": identifiers.is_short_name,
        "k8slongname": identifiers.is_long_name,
    }
)


def is_known_format(name: str) -> bool:
    """Return whether a format is known; dashes in the name do not matter."""
    return name.replace("-", "") in _FORMATS


def format_checker(name: str) -> Predicate | None:
    """Return the predicate of a format, None for an unknown one."""
    return _FORMATS.get(name.replace("-", "")) if name else None
