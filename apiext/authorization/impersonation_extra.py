"""What is wrong with additional facts about a user whom somebody wants to be (apiserver pkg/endpoints/filters/impersonation/mode.go)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.meta import field, go_format
from apiext.meta.names import dns1123_subdomain, regex_error

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATH_FORMAT: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH: Final = re.compile(_PATH_FORMAT)
_WHERE: Final = field.Path("extra", "key")


def wrong_extra(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Why it may not be taken on, empty where it may."""
    return next((wrong for key, texts in extra.items() if (wrong := _wrong(key, texts))), "")


def _wrong(key: str, texts: tuple[str, ...]) -> str:
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    if problems := _wrong_key(key):
        return f"impersonating an invalid key in extra is not allowed: {field.aggregate(problems)}"
    if key != key.lower():
        return f"impersonating a non-lowercase key in extra is not allowed: {go_format.quote(key)}"
    if not texts:
        return "impersonating empty values in extra is not allowed"
    return "impersonating the empty string value in extra is not allowed" if "" in texts else ""


def _wrong_key(key: str) -> list[field.FieldError]:
    host, _, path = key.partition("/")
    if not host or not path:
        return [field.invalid(_WHERE, key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    problems = [field.invalid(_WHERE, host, wrong) for wrong in dns1123_subdomain(host)]
    if not _PATH.fullmatch(path):
        problems.append(field.invalid(_WHERE, path, regex_error("Invalid path", _PATH_FORMAT)))
    return problems
