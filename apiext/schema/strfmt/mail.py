"""Mail addresses: `a@b`, `Name <a@b>` and `"Any name" <a@b>`. Go's net/mail also takes comments and groups of one address."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

_ATOM: Final = r"""[^\x00-\x20"(),.:;<>@\[\\\]\x7f]++"""
_DOT_ATOM: Final = rf"{_ATOM}(?:\.{_ATOM})*+"
_QUOTED: Final = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])++"'
_ADDRESS: Final = rf"(?:{_DOT_ATOM}|{_QUOTED})@[ \t]*+(?:{_DOT_ATOM}|\[(?P<%s>[^\]]*)\])"
_EMAIL: Final = re.compile(
    rf'[ \t]*+(?:{_ADDRESS % "plain"}|(?:(?:(?:{_ATOM}|\.)++|{_QUOTED}|"")[ \t]*+)*+<[ \t]*+{_ADDRESS % "named"}>)[ \t]*+'
)


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
