"""Issues and authenticates tokens of service accounts.

Mirrors kubernetes pkg/serviceaccount (claims.go, jwt.go).

JWT: RFC 7519, go-jose's rules.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from apiext.api.authentication.tokens import AuthenticatedToken, KeysError, TokenError
from apiext.base.meta.golang import base64_url, formatting
from apiext.base.meta.golang.type_model import describe
from apiext.base.meta.log import get_logger
from apiext.base.meta.request import CREDENTIAL_ID, UserInfo
from apiext.base.meta.time import parse as time_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from apiext.api.authentication.serviceaccount.keys import SigningKey, VerifyingKey
    from apiext.base.meta.encoding.json_codec import Object

    Lookup = Callable[[str, str], Awaitable[Object | None]]
    """Returns the object of a namespace and name, None if there is none."""
    from collections.abc import Callable

    Read = Callable[[Any], Any]
    """Returns the value of a claim, raises TokenError for one of another type."""

_LOG: Final = get_logger(__name__)
USER_PREFIX: Final = "system:serviceaccount:"
GROUP: Final = "system:serviceaccounts"
_KUBERNETES: Final = "kubernetes.io"
_MAX_VERIFIED: Final = 4096
"""Tokens with a verified signature that are kept."""
_INVALIDATED: Final = "service account token has been invalidated"
_NO_WEBHOOKS: Final = 'feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound'


_Found = TypeVar("_Found", bound="Keys | None")

_TEXTS: Final = ("alg", "kid", "nonce")
"""Members of the header that are texts."""


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


def _object_claim(value: Any) -> ObjectClaim:
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
            "serviceaccount": _object_claim,
            **{kind: _optional(_object_claim) for kind in _BOUND},
            "attestations": _optional(_attestations),
            "warnafter": _optional(_date),
        },
    )
}


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


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a server."""

    signing: SigningKey
    verifying: tuple[VerifyingKey, ...]


@dataclass(slots=True, kw_only=True)
class ServiceAccountTokens:
    """Tokens with the claims of the first issuer, valid for the audiences that they name."""

    load: Callable[[], Keys | None]
    """Reads the keys, None if there are none yet: then no token has been issued. Called in a thread."""
    create: Callable[[], Keys]
    """Reads the keys, and creates them if there are none. Called in a thread."""
    issuers: Sequence[str]
    audiences: Sequence[str]
    """Audiences of the server itself."""
    service_account: Lookup
    secret: Lookup
    clock: Callable[[], float] = time.time
    _keys: Keys | None = None
    _verified: OrderedDict[bytes, Claims] = field(default_factory=OrderedDict)
    """Claims by keyed hash of the token."""
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    async def keys(self) -> Keys:
        """Return the keys. Create them if there are none.

        Raises:
            KeysError: they cannot be read or written; the next call tries again.
        """
        if self._keys is None:
            self._keys = await _aside(self.create)
        return self._keys

    async def issue(
        self, account: Object, *, token_id: str, seconds: int, audiences: Sequence[str], bound: dict[str, Object], moment: float
    ) -> str:
        """Return a token of a service account with an id. `bound` has the object that it is bound to by its kind in lower case.

        Raises:
            KeysError: the keys cannot be read or written.
        """
        metadata, now = account["metadata"], int(moment)
        references = {kind: _reference(one) for kind, one in {**bound, "serviceaccount": account}.items()}
        claims = {
            "iss": self.issuers[0],
            "sub": f"{USER_PREFIX}{metadata['namespace']}:{metadata['name']}",
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "nbf": now,
            "jti": token_id,
            _KUBERNETES: {"namespace": metadata["namespace"], **references},
        }
        return sign(claims, (await self.keys()).signing)

    async def authenticate(self, token: str, audiences: Sequence[str]) -> AuthenticatedToken | None:
        """Return the user of a token. None for a token of another issuer.

        Raises:
            TokenError: the token is invalid, or its service account or the object that it is bound to is gone.
        """
        claims = await self._claims(token)
        if claims is None:
            return None
        named = claims.audiences or self.audiences
        wanted = audiences or self.audiences
        valid = tuple(name for name in named if name in wanted)
        if not valid and self.audiences:
            texts = " ".join(map(formatting.quote, named)), " ".join(map(formatting.quote, wanted))
            raise TokenError(f"token audiences [{texts[0]}] is invalid for the target audiences [{texts[1]}]")
        claims.check_times(self.clock())
        return AuthenticatedToken(await self._user(claims), valid)

    async def _claims(self, token: str) -> Claims | None:
        """Return the claims of a token with a valid signature. Raises TokenError."""
        key = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._secret, digest_size=32).digest()
        if (known := self._verified.get(key)) is not None:
            return known
        parsed = parse(token)
        if parsed is None or parsed.claims.get("iss") not in self.issuers:
            return None
        found = self._keys = self._keys or await _aside(self.load)
        verify(parsed, found.verifying if found is not None else ())
        claims = self._verified[key] = decode(parsed.claims)
        if len(self._verified) > _MAX_VERIFIED:
            self._verified.popitem(last=False)
        return claims

    async def _user(self, claims: Claims) -> UserInfo:
        namespace, name, uid = claims.namespace, claims.service_account.name, claims.service_account.uid
        if not name or not namespace:
            raise TokenError("the server could not find the requested resource" if name else "resource name may not be empty")
        account = await self.service_account(namespace, name)
        if account is None:
            raise TokenError(f"serviceaccounts {formatting.quote(name)} not found")
        if (found := account["metadata"].get("uid", "")) != uid:
            raise TokenError(f"service account UID ({found}) does not match claim ({uid})")
        if self._was_deleted(account):
            raise TokenError(f"service account {namespace}/{name} has been deleted")
        await self._check_bound(claims.bound, namespace)
        groups = (GROUP, f"{GROUP}:{namespace}")
        extra = {CREDENTIAL_ID: (f"JTI={claims.token_id}",)} if claims.token_id else {}
        return UserInfo(f"{USER_PREFIX}{namespace}:{name}", groups, uid, extra)

    async def _check_bound(self, bound: Mapping[str, ObjectClaim], namespace: str) -> None:
        """Check that the objects to which a token is bound exist. Raises TokenError."""
        named = bound.get("secret")
        if named is not None:
            secret = await self.secret(namespace, named.name)
            if secret is None:
                raise TokenError(_INVALIDATED)
            if (found := secret["metadata"].get("uid", "")) != named.uid:
                raise TokenError(f"secret UID ({found}) does not match service account secret ref claim ({named.uid})")
            if self._was_deleted(secret):
                raise TokenError(_INVALIDATED)
        if "pod" in bound or "node" in bound:
            # this server has no such objects
            raise TokenError(_INVALIDATED)
        if bound.keys() - {"secret"}:
            raise TokenError(_NO_WEBHOOKS)

    def _was_deleted(self, obj: Object) -> bool:
        """Return whether the deletion of an object, which may wait for finalizers, is older than clocks may differ."""
        moment = obj["metadata"].get("deletionTimestamp")
        return moment is not None and time_of(moment).timestamp() < self.clock() - LEEWAY


async def _aside(read: Callable[[], _Found]) -> _Found:
    """Read the keys in a thread. Log why that fails: the reason names files. Raises KeysError."""
    try:
        return await asyncio.to_thread(read)
    except (OSError, KeysError) as error:
        _LOG.error("keys of service accounts cannot be used", error=str(error))
        raise KeysError("the keys of service accounts cannot be used") from error


def _reference(obj: Object) -> dict[str, str]:
    return {"name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}
