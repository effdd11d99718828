"""Rules for names; each function returns the reference's messages about a value.

Mirrors apimachinery pkg/api/validate/content, pkg/util/validation and pkg/api/validation (generic.go).
"""

from __future__ import annotations

import random
import re
from typing import Final

DNS1123_LABEL_MAX_LENGTH: Final = 63
"""Bytes of a label of a DNS name."""
DNS1123_SUBDOMAIN_MAX_LENGTH: Final = 253
"""Bytes of a DNS name."""
_LABEL_KEY_MAX_LENGTH: Final = 63
"""Bytes of the part after the slash of a qualified name."""
_LABEL_VALUE_MAX_LENGTH: Final = 63
"""Bytes of a label's value."""

_LABEL_FORMAT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORMAT: Final = rf"{_LABEL_FORMAT}(\.{_LABEL_FORMAT})*"
_DNS1035_FORMAT: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_FORMAT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORMAT: Final = f"({_KEY_FORMAT})?"

_ENTRY_FORMAT: Final = "[-._a-zA-Z0-9]+"

_LABEL: Final = re.compile(_LABEL_FORMAT)
# Matches the same names as the format in the messages, without backtracking on hostile input.
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*+")
_DNS1035: Final = re.compile(_DNS1035_FORMAT)
_KEY: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_ENTRY: Final = re.compile(_ENTRY_FORMAT)
_ENTRY_MESSAGE: Final = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_LABEL_MESSAGE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_MESSAGE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_DNS1035_MESSAGE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_MESSAGE: Final = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_VALUE_MESSAGE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)

# No vowels and no digits that look like letters, so that random names spell no words.
_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
"""Random characters of a generated name."""
_GENERATED_MAX_LENGTH: Final = 63
"""Bytes of a generated name."""


def regex_error(message: str, pattern: str, *examples: str) -> str:
    """Return a message about a format, with examples and the pattern."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{pattern}')"


def size(text: str) -> int:
    """Return the length in bytes of UTF-8, the unit of all limits."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _length_errors(value: str, limit: int, unit: str) -> list[str]:
    return [f"must be no more than {limit} {unit}"] if size(value) > limit else []


def dns1123_label(value: str) -> list[str]:
    """Check a label of a DNS name, lower case."""
    if len(value) <= DNS1123_LABEL_MAX_LENGTH and _LABEL.fullmatch(value):
        return []
    errors = _length_errors(value, DNS1123_LABEL_MAX_LENGTH, "characters")
    if _LABEL.fullmatch(value) is None:
        if _SUBDOMAIN.fullmatch(value) is not None:
            errors.append("must not contain dots")
        else:
            errors.append(regex_error(_LABEL_MESSAGE, _LABEL_FORMAT, "my-name", "123-abc"))
    return errors


def dns1123_subdomain(value: str) -> list[str]:
    """Check a DNS name, lower case."""
    return _subdomain(value, "characters")


def _subdomain(value: str, unit: str) -> list[str]:
    if len(value) <= DNS1123_SUBDOMAIN_MAX_LENGTH and _SUBDOMAIN.fullmatch(value):
        return []
    errors = _length_errors(value, DNS1123_SUBDOMAIN_MAX_LENGTH, unit)
    if _SUBDOMAIN.fullmatch(value) is None:
        errors.append(regex_error(_SUBDOMAIN_MESSAGE, _SUBDOMAIN_FORMAT, "example.com"))
    return errors


def dns1035_label(value: str) -> list[str]:
    """Check a label of a DNS name that begins with a letter."""
    errors = _length_errors(value, DNS1123_LABEL_MAX_LENGTH, "characters")
    if _DNS1035.fullmatch(value) is None:
        errors.append(regex_error(_DNS1035_MESSAGE, _DNS1035_FORMAT, "my-name", "abc-123"))
    return errors


def label_key(value: str) -> list[str]:
    """Check a qualified name: the key of a label or an annotation, a finalizer, a condition type."""
    prefix, slash, name = value.rpartition("/")
    if (
        len(name) <= _LABEL_KEY_MAX_LENGTH
        and _KEY.fullmatch(name)
        and (not slash or (len(prefix) <= DNS1123_SUBDOMAIN_MAX_LENGTH and _SUBDOMAIN.fullmatch(prefix)))
    ):
        return []
    format_error = regex_error(_KEY_MESSAGE, _KEY_FORMAT, "MyName", "my.name", "123-abc")
    if "/" in prefix:
        return [f"a valid label key {format_error} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    errors = []
    if slash:
        if not prefix:
            errors.append("prefix part must be non-empty")
        errors += [f"prefix part {message}" for message in (_subdomain(prefix, "bytes") if prefix else ())]
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {message}" for message in _length_errors(name, _LABEL_KEY_MAX_LENGTH, "bytes")]
    if _KEY.fullmatch(name) is None:
        errors.append(f"name part {format_error}")
    return errors


def label_value(value: str) -> list[str]:
    """Check the value of a label."""
    if not value or (len(value) <= _LABEL_VALUE_MAX_LENGTH and _KEY.fullmatch(value)):
        return []
    errors = _length_errors(value, _LABEL_VALUE_MAX_LENGTH, "bytes")
    if _KEY.fullmatch(value) is None:
        errors.append(regex_error(_VALUE_MESSAGE, _VALUE_FORMAT, "MyValue", "my_value", "12345"))
    return errors


def config_map_key(value: str) -> list[str]:
    """Return the errors of a key of a ConfigMap or Secret (IsConfigMapKey)."""
    errors = _length_errors(value, DNS1123_SUBDOMAIN_MAX_LENGTH, "characters")
    if not _ENTRY.fullmatch(value):
        errors.append(regex_error(_ENTRY_MESSAGE, _ENTRY_FORMAT, "key.name", "KEY_NAME", "key-name"))
    if value in {".", ".."}:
        errors.append(f"must not be '{value}'")
    elif value.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def path_segment(name: str, prefix: bool = False) -> list[str]:  # noqa: FBT001, FBT002
    """Check a name, or a prefix of one, for use in a URL path and a storage key."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    if "/" not in name and "%" not in name:
        return []
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def name_is_dns_subdomain(name: str, prefix: bool = False) -> list[str]:  # noqa: FBT001, FBT002
    """Check the name of an object, or a prefix of one."""
    return dns1123_subdomain(_mask_trailing_dash(name) if prefix else name)


def name_is_dns_label(name: str, prefix: bool = False) -> list[str]:  # noqa: FBT001, FBT002
    """Check the name of a namespace, or a prefix of one."""
    return dns1123_label(_mask_trailing_dash(name) if prefix else name)


def name_is_dns1035_label(name: str, prefix: bool = False) -> list[str]:  # noqa: FBT001, FBT002
    """Check the name of a service, or a prefix of one."""
    return dns1035_label(_mask_trailing_dash(name) if prefix else name)


def _mask_trailing_dash(name: str) -> str:
    """Return a valid text if the prefix can begin a valid name."""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


def generate_name(base: str) -> str:
    """Return a prefix with five random characters, cut to 63 bytes in all."""
    longest = _GENERATED_MAX_LENGTH - _SUFFIX_LENGTH
    if size(base) > longest:
        base = base.encode("utf-8", "surrogatepass")[:longest].decode("utf-8", "replace")
    return base + "".join(random.choices(_SUFFIX_ALPHABET, k=_SUFFIX_LENGTH))  # noqa: S311
