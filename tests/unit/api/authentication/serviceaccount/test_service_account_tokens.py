"""Issue and authentication of tokens of service accounts."""

import base64
import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from apiext.api.authentication.serviceaccount import service_account_tokens as jwt
from apiext.api.authentication.serviceaccount.keys import (
    KeyFileError,
    SigningKey,
    new_signing_key,
    read_signing_key,
    read_verifying_keys,
)
from apiext.api.authentication.serviceaccount.service_account_tokens import Keys, ServiceAccountTokens
from apiext.api.authentication.tokens import KeysError, TokenError
from apiext.base.meta.encoding.json_codec import Object

NOW = 1_000_000.0
ISSUER = "https://issuer"
ACCOUNT = {"metadata": {"name": "bot", "namespace": "shop", "uid": "u1"}}
SECRET = {"metadata": {"name": "s", "namespace": "shop", "uid": "u2"}}


@cache
def rsa_key() -> SigningKey:
    """Return a key; making one takes long."""
    return read_signing_key(new_signing_key())


def curve_pem(curve: ec.EllipticCurve) -> bytes:
    """Return a new key of a curve in PEM."""
    form = serialization.PrivateFormat.PKCS8
    return ec.generate_private_key(curve).private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def tokens_of(
    objects: dict[str, Object], key: SigningKey | None = None, *, clock: Callable[[], float] = lambda: NOW
) -> ServiceAccountTokens:
    """Return tokens with these objects by name."""

    async def find(_namespace: str, name: str) -> Object | None:
        return objects.get(name)

    signing = key or rsa_key()
    return ServiceAccountTokens(
        load=lambda: Keys(signing, (signing.public,)),
        create=lambda: Keys(signing, (signing.public,)),
        issuers=(ISSUER, "https://old"),
        audiences=(ISSUER,),
        service_account=find,
        secret=find,
        clock=clock,
    )


async def issued(tokens: ServiceAccountTokens, audiences: Sequence[str] = (ISSUER,), **bound: Object) -> str:
    """Return a token of an hour."""
    return await tokens.issue(ACCOUNT, token_id="t1", seconds=3600, audiences=audiences, bound=dict(bound), moment=NOW)


async def refused(tokens: ServiceAccountTokens, token: str, audiences: Sequence[str] = ()) -> str:
    """Return the reason why a token is refused."""
    with pytest.raises(TokenError) as raised:
        await tokens.authenticate(token, audiences)
    return str(raised.value)


@pytest.mark.parametrize("curve", [None, ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
async def test_authenticates_issued_tokens(curve: ec.EllipticCurve | None) -> None:
    """Issue a token with the reference's claims and authenticate it, with every kind of key."""
    key = read_signing_key(curve_pem(curve)) if curve is not None else None
    tokens = tokens_of({"bot": ACCOUNT, "s": SECRET}, key)

    token = await issued(tokens, secret=SECRET)
    found = await tokens.authenticate(token, ())

    parsed = jwt.parse(token)
    assert parsed is not None
    assert parsed.claims == {
        "aud": [ISSUER],
        "exp": NOW + 3600,
        "iat": NOW,
        "iss": ISSUER,
        "jti": "t1",
        "kubernetes.io": {"namespace": "shop", "secret": {"name": "s", "uid": "u2"}, "serviceaccount": {"name": "bot", "uid": "u1"}},
        "nbf": NOW,
        "sub": "system:serviceaccount:shop:bot",
    }
    assert found is not None
    assert (found.user.name, found.user.uid, found.audiences) == ("system:serviceaccount:shop:bot", "u1", (ISSUER,))
    assert found.user.groups == ("system:serviceaccounts", "system:serviceaccounts:shop")
    assert found.user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=t1",)}


async def test_checks_audiences() -> None:
    """Accept a token for one of the wanted audiences only, by default for those of the server."""
    tokens = tokens_of({"bot": ACCOUNT})
    token = await issued(tokens, ["a", "b"])

    found = await tokens.authenticate(token, ["b", "c"])

    assert found is not None
    assert found.audiences == ("b",)
    assert await refused(tokens, token) == 'token audiences ["a" "b"] is invalid for the target audiences ["https://issuer"]'


async def test_checks_objects() -> None:
    """Refuse the token of a service account, or for a secret, that is gone or was created again."""
    token = await issued(tokens_of({}), secret=SECRET)
    other: Object = {"metadata": {"uid": "u9"}}

    assert await refused(tokens_of({}), token) == 'serviceaccounts "bot" not found'
    assert await refused(tokens_of({"bot": other}), token) == "service account UID (u9) does not match claim (u1)"
    assert await refused(tokens_of({"bot": ACCOUNT}), token) == "service account token has been invalidated"
    reason = "secret UID (u9) does not match service account secret ref claim (u2)"
    assert await refused(tokens_of({"bot": ACCOUNT, "s": other}), token) == reason


async def test_checks_times() -> None:
    """Refuse expired tokens and those of the future; clocks may differ by a minute."""
    times = iter([NOW + 3660.0, NOW + 3661.0, NOW - 61.0])
    tokens = tokens_of({"bot": ACCOUNT}, clock=lambda: next(times))
    token = await issued(tokens)

    assert await tokens.authenticate(token, ()) is not None
    assert await refused(tokens, token) == "service account token has expired"
    assert await refused(tokens, token) == "service account token is not valid yet"


async def test_checks_signatures() -> None:
    """Refuse changed tokens and those of other keys; leave tokens of other issuers to others."""
    tokens = tokens_of({"bot": ACCOUNT})
    head, claims, signature = (await issued(tokens)).split(".")
    broken = "go-jose/go-jose: error in cryptographic primitive"

    assert await refused(tokens, f"{head}.{changed(claims, sub='x')}.{signature}") == broken
    assert await refused(tokens, f"{changed(head, alg='none')}.{claims}.{signature}") == broken
    assert await refused(tokens, f"{changed(head, kid='x')}.{claims}.{signature}") == "invalid signature, no keys found"
    assert await refused(tokens, f"{changed(head, kid='')}.{claims}.AAAA") == broken
    assert await refused(tokens, f"{changed(head, crit=['exp'])}.{claims}.{signature}") == broken
    for text in ("x", "a.b.c", f"{head}.{changed(claims, iss='https://other')}.{signature}", f"{head}.{claims}", f"{head}.W10.{signature}"):
        assert await tokens.authenticate(text, ()) is None


@pytest.mark.parametrize("header", [{"kid": 5}, {"alg": ["RS256"]}, {"nonce": {}}])
async def test_leaves_malformed_headers_to_others(header: dict[str, Any]) -> None:
    """Know no token whose header has members of other types."""
    tokens = tokens_of({"bot": ACCOUNT})
    head, rest = (await issued(tokens)).split(".", 1)

    assert await tokens.authenticate(f"{changed(head, **header)}.{rest}", ()) is None


async def test_refuses_standard_base64() -> None:
    """Refuse a signature in standard base64 and one with padding, although its bytes are the same."""
    tokens = tokens_of({"bot": ACCOUNT})
    found = []
    # about every second signature has no - and _
    for number in range(30):
        token = await tokens.issue(ACCOUNT, token_id=str(number), seconds=3600, audiences=(ISSUER,), bound={}, moment=NOW)
        head, signature = token.rsplit(".", 1)
        standard = signature.replace("-", "+").replace("_", "/")
        assert await tokens.authenticate(f"{head}.{signature}==", ()) is None
        if standard != signature:
            found.append(await tokens.authenticate(f"{head}.{standard}", ()))
        assert await tokens.authenticate(token, ()) is not None

    assert found
    assert not any(found)


async def test_checks_deletions() -> None:
    """Refuse the token of an account or for a secret whose deletion has waited for finalizers for over a minute."""

    def deleted(obj: Object, moment: str) -> Object:
        return {"metadata": {**obj["metadata"], "deletionTimestamp": moment}}

    long_ago, just_now = "1970-01-12T13:45:39Z", "1970-01-12T13:45:40Z"
    token = await issued(tokens_of({}), secret=SECRET)

    assert await tokens_of({"bot": deleted(ACCOUNT, just_now), "s": deleted(SECRET, just_now)}).authenticate(token, ()) is not None
    reason = await refused(tokens_of({"bot": deleted(ACCOUNT, long_ago), "s": SECRET}), token)
    assert reason == "service account shop/bot has been deleted"
    reason = await refused(tokens_of({"bot": ACCOUNT, "s": deleted(SECRET, long_ago)}), token)
    assert reason == "service account token has been invalidated"


async def test_reads_keys_again_after_an_error() -> None:
    """Refuse tokens while the keys cannot be read, without the reason, and make none for a token that arrives."""
    token = await issued(tokens_of({"bot": ACCOUNT}))
    tokens, made = tokens_of({"bot": ACCOUNT}), Keys(rsa_key(), (rsa_key().public,))
    answers: list[Exception | Keys | None] = [OSError(13, "denied", "/pki/key"), KeyFileError("/pki/key"), None, made]

    def load() -> Keys | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def create() -> Keys:
        raise PermissionError(13, "denied", "/pki/key")

    tokens.load, tokens.create = load, create
    with pytest.raises(KeysError, match=r"^the keys of service accounts cannot be used$"):
        await tokens.keys()
    for reason in (*["the keys of service accounts cannot be used"] * 2, "invalid signature, no keys found"):
        assert await refused(tokens, token) == reason

    assert await tokens.authenticate(token, ()) is not None
    assert await tokens.keys() == made


def changed(part: str, **members: Any) -> str:
    """Return a part of a token with other members."""
    parsed = json.loads(base64.urlsafe_b64decode(part + "=="))
    return base64.urlsafe_b64encode(json.dumps(parsed | members).encode()).decode().rstrip("=")


def test_reads_key_files() -> None:
    """Read several public and private keys of a file; refuse files without one."""
    signing = rsa_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = signing.public.public.public_bytes(serialization.Encoding.PEM, form)

    assert next(key.id for key in read_verifying_keys(public + new_signing_key())) == signing.public.id
    for read, pem in ((read_verifying_keys, b"x"), (read_signing_key, public), (read_signing_key, curve_pem(ec.SECP256K1()))):
        with pytest.raises(KeyFileError):
            read(pem)


def test_returns_json_web_keys() -> None:
    """Return keys in the form of the reference's /openid/v1/jwks."""
    curve = read_signing_key(curve_pem(ec.SECP256R1())).public.as_jwk()
    rsa = rsa_key().public.as_jwk()

    assert list(curve) == ["use", "kty", "kid", "crv", "alg", "x", "y"]
    assert (curve["kty"], curve["crv"], curve["alg"]) == ("EC", "P-256", "ES256")
    assert (list(rsa), rsa["e"], rsa["alg"]) == (["use", "kty", "kid", "alg", "n", "e"], "AQAB", "RS256")
