"""The claims of a token, each of the type that the reference's JSON decoder demands, and the check of their times.

Mirrors go-jose's jwt.Claims and kubernetes pkg/serviceaccount (claims.go, privateClaims).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.api.authentication.tokens import TokenError
from apiext.base.meta.golang.type_model import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Read = Callable[[Any], Any]
    """Returns the value of a claim, raises TokenError for one of another type."""

LEEWAY: Final = 60.0
"""Seconds that clocks may differ."""
_INT64: Final = 1 << 63
_DATE: Final = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate"
_AUDIENCE: Final = "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"


@dataclass(frozen=True, slots=True)
class ObjectClaim:
    """An object that a token names."""

    name: str = ""
    uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The claims of a token. Times are in seconds since the epoch."""

    issuer: str = ""
    audiences: tuple[str, ...] = ()
    expiry: int | None = None
    """None for a token that does not expire."""
    not_before: int | None = None
    issued_at: int | None = None
    token_id: str = ""
    namespace: str = ""
    service_account: ObjectClaim = ObjectClaim()
    bound: Mapping[str, ObjectClaim]
    """The objects to which the token is bound, by kind in lower case."""

    def check_times(self, now: float) -> None:
        """Check the times against the seconds since the epoch.

        Raises:
            TokenError: the token has expired or is not valid yet.
        """
        if self.not_before is not None and now + LEEWAY < self.not_before:
            raise TokenError("service account token is not valid yet")
        if self.expiry is not None and now - LEEWAY > self.expiry:
            raise TokenError("service account token has expired")
        if self.issued_at is not None and now + LEEWAY < self.issued_at:
            raise TokenError("service account token is issued in the future")


def decode(document: Mapping[str, Any]) -> Claims:
    """Return the claims of a token's document.

    Raises:
        TokenError: a claim has another type. The message is the reference's.
    """
    public = _members(document, _PUBLIC)
    private = _members(document, _PRIVATE).get("kubernetes.io", {})
    return Claims(
        issuer=public.get("iss", ""),
        audiences=public.get("aud", ()),
        expiry=public.get("exp"),
        not_before=public.get("nbf"),
        issued_at=public.get("iat"),
        token_id=public.get("jti", ""),
        namespace=private.get("namespace", ""),
        service_account=private.get("serviceaccount", ObjectClaim()),
        bound={kind: private[kind] for kind in _BOUND if private.get(kind) is not None},
    )


def _members(document: Mapping[str, Any], fields: Mapping[str, Read]) -> dict[str, Any]:
    return {name: fields[name](value) for name, value in document.items() if name in fields}


def _mismatch(value: Any, type_name: str) -> TokenError:
    return TokenError(f"json: cannot unmarshal {describe(value)} into Go value of type {type_name}")


def _string(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _mismatch(value, "string")
    return value


def _struct(type_name: str, fields: Mapping[str, Read]) -> Read:
    def read(value: Any) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise _mismatch(value, type_name)
        return _members(value, fields)

    return read


def _reference(value: Any) -> ObjectClaim:
    return ObjectClaim(**_REFERENCE(value))


def _optional(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _date(value: Any) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool) or value in {float("inf"), float("-inf")}:
        raise TokenError(_DATE)
    # Go makes the lowest integer of what is beyond 64 bits
    return int(value) if -_INT64 <= value < _INT64 else -_INT64


def _audiences(value: Any) -> tuple[str, ...]:
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        raise TokenError(_AUDIENCE)
    return tuple(named)


def _attestations(value: Any) -> None:
    if not isinstance(value, dict):
        raise _mismatch(value, "map[string]authentication.AttestationValue")
    for values in value.values():
        if values is not None and not isinstance(values, list):
            raise _mismatch(values, "authentication.AttestationValue")
        for text in values or ():
            _string(text)


_REFERENCE: Final = _struct("serviceaccount.ref", {"name": _string, "uid": _string})
_BOUND: Final = ("pod", "secret", "node", "validatingwebhookconfiguration", "mutatingwebhookconfiguration")
_PUBLIC: Final[Mapping[str, Read]] = {
    "iss": _string,
    "sub": _string,
    "aud": _audiences,
    "exp": _optional(_date),
    "nbf": _optional(_date),
    "iat": _optional(_date),
    "jti": _string,
}
_PRIVATE: Final[Mapping[str, Read]] = {
    "kubernetes.io": _struct(
        "serviceaccount.kubernetes",
        {
            "namespace": _string,
            "serviceaccount": _reference,
            **{kind: _optional(_reference) for kind in _BOUND},
            "attestations": _optional(_attestations),
            "warnafter": _optional(_date),
        },
    )
}
