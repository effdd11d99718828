"""JSON Web Tokens: compact form, signature, and the claims about time (RFC 7519, go-jose's rules)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.authentication.tokens import TokenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.authentication.serviceaccount.keys import SigningKey, VerifyingKey

LEEWAY: Final = 60.0
"""Seconds that clocks may differ."""


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """A token whose signature has not been verified."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signed: bytes
    signature: bytes


def parse(token: str) -> UnverifiedToken | None:
    """Return the parts of a token, None for a text that is no JSON Web Token."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        header, claims = orjson.loads(_decoded(parts[0])), orjson.loads(_decoded(parts[1]))
        signature = _decoded(parts[2])
    except (ValueError, binascii.Error):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    return UnverifiedToken(header, claims, f"{parts[0]}.{parts[1]}".encode(), signature)


def _decoded(text: str) -> bytes:
    return base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def verify(token: UnverifiedToken, keys: Sequence[VerifyingKey]) -> None:
    """Verify the signature of a token.

    Raises:
        TokenError: no key has the ID in its header, or the signature is invalid.
    """
    wanted = token.header.get("kid")
    usable = [key for key in keys if not wanted or key.id == wanted]
    if not usable:
        raise TokenError("invalid signature, no keys found")
    if not any(key.verifies(str(token.header.get("alg")), token.signature, token.signed) for key in usable):
        raise TokenError("go-jose/go-jose: error in cryptographic primitive")


def check_times(claims: dict[str, Any], now: float) -> None:
    """Check the claims about time against the seconds since the epoch.

    Raises:
        TokenError: the token has expired or is not valid yet.
    """
    if _seconds(claims, "nbf", now) > now + LEEWAY:
        raise TokenError("service account token is not valid yet")
    if _seconds(claims, "exp", now) < now - LEEWAY:
        raise TokenError("service account token has expired")
    if _seconds(claims, "iat", now) > now + LEEWAY:
        raise TokenError("service account token is issued in the future")


def _seconds(claims: dict[str, Any], name: str, default: float) -> float:
    value = claims.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else default


def sign(claims: dict[str, Any], key: SigningKey) -> str:
    """Return a signed token."""
    from apiext.authentication.serviceaccount.keys import encoded

    head = orjson.dumps({"alg": key.public.algorithm, "kid": key.public.id})
    signed = f"{encoded(head)}.{encoded(orjson.dumps(claims, option=orjson.OPT_SORT_KEYS))}"
    return f"{signed}.{encoded(key.sign(signed.encode()))}"
