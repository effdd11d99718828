"""JSON Web Tokens: compact form and signature (RFC 7519, go-jose's rules)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from apiext.authentication.tokens import TokenError
from apiext.meta.golang import base64_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.authentication.serviceaccount.keys import SigningKey, VerifyingKey

_TEXTS: Final = ("alg", "kid", "nonce")
"""Members of the header that are texts."""


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
        # the reference ignores blanks, but not in the claims
        head, claims, signature = map(base64_url.decode, ("".join(parts[0].split()), parts[1], "".join(parts[2].split())))
        header, document = orjson.loads(head), orjson.loads(claims)
    except ValueError:
        return None
    if not isinstance(header, dict) or not isinstance(document, dict):
        return None
    if not all(isinstance(header.get(name), str | None) for name in _TEXTS):
        return None
    return UnverifiedToken(header, document, _signed(head, claims), signature)


def _signed(head: bytes, claims: bytes) -> bytes:
    return f"{base64_url.encode(head)}.{base64_url.encode(claims)}".encode()


def verify(token: UnverifiedToken, keys: Sequence[VerifyingKey]) -> None:
    """Verify the signature of a token.

    Raises:
        TokenError: no key has the ID in its header, or the signature is invalid.
    """
    wanted = token.header.get("kid")
    usable = [key for key in keys if not wanted or key.id == wanted]
    if not usable:
        raise TokenError("invalid signature, no keys found")
    # the signer demands that what it calls critical is understood
    if token.header.get("crit") or not any(key.verifies(token.header.get("alg") or "", token.signature, token.signed) for key in usable):
        raise TokenError("go-jose/go-jose: error in cryptographic primitive")


def sign(claims: dict[str, Any], key: SigningKey) -> str:
    """Return a signed token."""
    head = orjson.dumps({"alg": key.public.algorithm, "kid": key.public.id})
    signed = _signed(head, orjson.dumps(claims, option=orjson.OPT_SORT_KEYS))
    return f"{signed.decode()}.{base64_url.encode(key.sign(signed))}"
