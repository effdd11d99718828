"""Fields and texts that hold secrets, by their names and forms."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET: Final = re.compile(
    r"\b(?:pass(?:wor[dt]|wd|phrase|code)?s?|pwd|tokens?|secrets?|credentials?|creds?|api ?keys?|bearer|authorization|cookie|psk|otp"
    r"|htpasswd|kube ?config|docker ?config ?json|(?:private|secret|access|ssh|encryption) ?keys?|basic auth"
    r"|(?:signing|shared|auth|tls|client|license|account|master|session|host) key|connection (?:string|uri)|secret (?:data|value))$"
)
"""Last words of names of secrets."""
_REFERENCE: Final = re.compile(
    r"\b(?:names?|namespaced?|namespaces|keys?|refs?|references?|selector|kind|group|version|type|mode|paths?|audiences?|operator|optional"
    r"|file|policy|class|provider|engine|format|algorithm|issuer|ttl|seconds|duration)$"
)
"""Last words of names of members that say where or how a secret is."""
_FORMS: Final = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    re.compile(r"\b[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE),
    re.compile(r"\b(?:ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|AKIA|ASIA)[-_]?[A-Za-z0-9_-]{12,}"),
)


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Report whether a field, variable or annotation of this name has a secret: its last words say so, as in dbPassword or API_KEY."""
    return _SECRET.search(_words(name.rpartition("/")[2])) is not None


@lru_cache(maxsize=4096)
def is_reference_name(name: str) -> bool:
    """Report whether a member of a secret says where it is instead of being one, such as secretKeyRef.name."""
    return _REFERENCE.search(_words(name)) is not None


def has_secret_form(text: str) -> bool:
    """Report whether a text has the form of a secret: a private key, a token, or a URL with a password."""
    return any(form.search(text) for form in _FORMS)


def _words(name: str) -> str:
    """Return the words of a name in camel case or with separators, without a number at its end."""
    return " ".join(_WORD.findall(name.rstrip("0123456789"))).lower()
