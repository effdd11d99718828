"""The known formats of strings (strfmt/format.go, apiserver/validation/formats.go)."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType
from typing import Final

from apiext.base.meta import names
from apiext.base.meta.golang.url import parse_request_uri
from apiext.base.meta.time import DURATION_LIMIT, NANOSECONDS, duration_nanoseconds
from apiext.schema.pattern import Pattern, compile_pattern

_LEADING_ZEROS = re.compile("(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
_PREFIX = re.compile("[^%/]+/[0-9]+")


_LETTER = r"[a-zA-Z0-9\p{S}\p{L}]"


@functools.cache
def _mac() -> re.Pattern[str]:
    # Compiled at first use: this takes long.
    return re.compile(
        "|".join(f"{_HEX}{{2}}(?:{separator}{_HEX}{{2}}){{{octets - 1}}}" for separator in ("", ":", "-") for octets in (6, 8, 20))
        + "|"
        + "|".join(rf"{_HEX}{{4}}(?:\.{_HEX}{{4}}){{{pairs - 1}}}" for pairs in (3, 4, 10))
    )


@functools.cache
def _hostname() -> Pattern:
    # Compiled at first use: this takes long.
    return compile_pattern(
        rf"^({_LETTER}((-?[a-zA-Z0-9\p{{S}}\p{{L}}]{{0,62}})?)"
        rf"|({_LETTER}(([a-zA-Z0-9-\p{{S}}\p{{L}}]{{0,61}}{_LETTER})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
    )


def is_ipv4(text: str) -> bool:
    """Return whether a text is an IPv4 address (leading zeros allowed), or an IPv6 address that ends in one."""
    parse = ipaddress.IPv6Address if ":" in text else ipaddress.IPv4Address
    return "." in text and "%" not in text and _is_read(parse, _LEADING_ZEROS.sub("", text))


def is_ipv6(text: str) -> bool:
    """Return whether a text is an IPv6 address without zone."""
    return "%" not in text and _is_read(ipaddress.IPv6Address, text)


def is_cidr(text: str) -> bool:
    """Return whether a text is an address (leading zeros allowed) with a prefix length."""
    return _PREFIX.fullmatch(text) is not None and _is_read(ipaddress.ip_interface, _LEADING_ZEROS.sub("", text))


def _is_read(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def is_request_uri(text: str) -> bool:
    """Return whether a text is an absolute URI or an absolute path (Go's net/url.ParseRequestURI)."""
    return _is_read(parse_request_uri, text)


def is_mac(text: str) -> bool:
    """Return whether a text is a hardware address of 6, 8 or 20 octets."""
    return _mac().fullmatch(text) is not None


def is_hostname(text: str) -> bool:
    """Return whether a text is a host name: letters and symbols of any script, except in the top-level domain."""
    if not _hostname().matches(text):
        return False
    encoded = text.encode()
    return len(encoded) <= 255 and all(len(label) <= 63 for label in encoded.split(b"."))


_ISBN10 = re.compile("[0-9]{9}[0-9X]")
_ISBN13 = re.compile("[0-9]{13}")
_SEPARATORS = re.compile(r"[\t\n\f\r -]+")
_NO_DIGITS = re.compile("[^0-9]+")
_CARD = re.compile(
    "4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)


_ATOM: Final = r"""[^\x00-\x20"(),.:;<>@\[\\\]\x7f]++"""
_DOT_ATOM: Final = rf"{_ATOM}(?:\.{_ATOM})*+"
_QUOTED: Final = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])++"'
_ADDRESS: Final = rf"(?:{_DOT_ATOM}|{_QUOTED})@[ \t]*+(?:{_DOT_ATOM}|\[(?P<%s>[^\]]*)\])"
_EMAIL: Final = re.compile(
    rf'[ \t]*+(?:{_ADDRESS % "plain"}|(?:(?:(?:{_ATOM}|\.)++|{_QUOTED}|"")[ \t]*+)*+<[ \t]*+{_ADDRESS % "named"}>)[ \t]*+'
)


_HEX = "[0-9a-fA-F]"
_GROUP = f"{_HEX}{{4}}"
_RFC_VARIANT = f"[89abAB]{_HEX}{{3}}"
_CHANNEL = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_GAP = r"[\t\n\f\r ]*"


_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)

_WORDED = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]++)")
"""A number with a unit. A match cannot begin inside a number: it would have begun with it."""
_MAX_DIGITS = 19
"""Digits of the greatest number of nanoseconds."""
_DAY = 24 * 3600 * 10**9
_UNITS = NANOSECONDS | {"hr": NANOSECONDS["h"], "d": _DAY, "w": 7 * _DAY, "wk": 7 * _DAY}
_UNIT_STARTS = {
    "nano": 1,
    "micro": 10**3,
    "milli": 10**6,
    "sec": 10**9,
    "min": 60 * 10**9,
    "hour": 3600 * 10**9,
    "day": _DAY,
    "week": 7 * _DAY,
}


def is_date(text: str) -> bool:
    """Return whether a text is a day of the calendar such as 2006-01-02."""
    return _DATE.fullmatch(text) is not None and _exists(text)


def _exists(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def is_date_time(text: str) -> bool:
    """Return whether a text is a time such as 2006-01-02T15:04:05Z; letters may be in either case."""
    found = _DATE_TIME.fullmatch(text)
    return found is not None and _exists(found[1])


def is_duration(text: str) -> bool:
    """Return whether a text is a Go duration (1h30m), or contains numbers with units in words (2 days)."""
    return parse_duration(text) is not None


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration, None for an invalid or too long one (strfmt.ParseDuration)."""
    if (nanoseconds := duration_nanoseconds(text)) is not None:
        return nanoseconds
    total = None
    for number, unit in _WORDED.findall(text):
        if len(number) > _MAX_DIGITS:
            return None
        if scale := _scale(unit.lower()):
            total = (total or 0) + int(number) * scale
    return total if total is None or total < DURATION_LIMIT else None


def _scale(unit: str) -> int:
    """Return the nanoseconds of a unit in words, 0 for an unknown one."""
    if unit in _UNITS:
        return _UNITS[unit]
    return next((scale for start, scale in _UNIT_STARTS.items() if unit.startswith(start)), 0)


def _matcher(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str) -> Callable[[str], bool]:
    return _matcher(f"{_HEX}{{8}}-?{_GROUP}-?{version}-?{variant}-?{_HEX}{{12}}")


is_uuid = _uuid(_GROUP, _GROUP)
"""Any version, with or without dashes like the others."""
is_uuid3 = _uuid(f"3{_HEX}{{3}}", _GROUP)
is_uuid4 = _uuid(f"4{_HEX}{{3}}", _RFC_VARIANT)
is_uuid5 = _uuid(f"5{_HEX}{{3}}", _RFC_VARIANT)
is_bson_object_id = _matcher(f"{_HEX}{{24}}")
is_ssn = _matcher("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}")
"""U.S. social security number with both separators."""
is_hex_color = _matcher(f"#?(?:{_HEX}{{3}}|{_HEX}{{6}})")
is_rgb_color = _matcher(rf"rgb\({_GAP}{_CHANNEL}{_GAP},{_GAP}{_CHANNEL}{_GAP},{_GAP}{_CHANNEL}{_GAP}\)")
is_base64 = _matcher("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
"""Non-empty, padded, standard alphabet."""


def is_email(text: str) -> bool:
    """Return whether a text is one mail address, with or without a display name."""
    found = _EMAIL.fullmatch(text)
    if found is None:
        return False
    literal = found["plain"] if found["plain"] is not None else found["named"]
    try:
        return literal is None or (bool(ipaddress.ip_address(literal)) and "%" not in literal)
    except ValueError:
        return False


def is_isbn10(text: str) -> bool:
    """Return whether a text is an ISBN of ten digits with the right check digit."""
    digits = _SEPARATORS.sub("", text)
    if not _ISBN10.fullmatch(digits):
        return False
    weighted = sum(weight * (10 if digit == "X" else int(digit)) for weight, digit in enumerate(digits, start=1))
    return weighted % 11 == 0


def is_isbn13(text: str) -> bool:
    """Return whether a text is an ISBN of thirteen digits with the right check digit."""
    digits = _SEPARATORS.sub("", text)
    if not _ISBN13.fullmatch(digits):
        return False
    return sum((3 if place % 2 else 1) * int(digit) for place, digit in enumerate(digits)) % 10 == 0


def is_credit_card(text: str) -> bool:
    """Return whether a text is a card number of a large issuer with the right check digit. Ignore other characters between digits."""
    digits = _NO_DIGITS.sub("", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(each // 10 + each % 10 for each in doubled) % 10 == 0


Predicate = Callable[[str], bool]

_FORMATS: Mapping[str, Predicate] = MappingProxyType(
    {
        "bsonobjectid": is_bson_object_id,
        "uri": is_request_uri,
        "email": is_email,
        "hostname": is_hostname,
        "ipv4": is_ipv4,
        "ipv6": is_ipv6,
        "cidr": is_cidr,
        "mac": is_mac,
        "uuid": is_uuid,
        "uuid3": is_uuid3,
        "uuid4": is_uuid4,
        "uuid5": is_uuid5,
        "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
        "isbn10": is_isbn10,
        "isbn13": is_isbn13,
        "creditcard": is_credit_card,
        "ssn": is_ssn,
        "hexcolor": is_hex_color,
        "rgbcolor": is_rgb_color,
        "byte": is_base64,
        "password": lambda _: True,  # It only asks clients to hide the value.
        "date": is_date,
        "duration": is_duration,
        "datetime": is_date_time,
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
