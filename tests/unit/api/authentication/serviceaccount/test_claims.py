"""Claims of other types than the reference demands."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.api.authentication.serviceaccount import service_account_tokens as jwt
from apiext.api.authentication.serviceaccount.service_account_tokens import Claims, decode
from apiext.api.authentication.tokens import AuthenticatedToken, TokenError
from tests.unit.api.authentication.serviceaccount.test_service_account_tokens import ACCOUNT, ISSUER, NOW, SECRET, rsa_key, tokens_of

VALID: dict[str, Any] = {
    "iss": ISSUER,
    "sub": "system:serviceaccount:shop:bot",
    "aud": [ISSUER],
    "exp": int(NOW) + 3600,
    "nbf": int(NOW),
    "iat": int(NOW),
    "jti": "t1",
    "kubernetes.io": {
        "namespace": "shop",
        "serviceaccount": {"name": "bot", "uid": "u1"},
        "secret": {"name": "s", "uid": "u2"},
        "attestations": {"a": ["b"]},
        "warnafter": 5,
    },
}
PATHS = [
    *((name,) for name in VALID),
    *(("kubernetes.io", name) for name in (*VALID["kubernetes.io"], "pod", "node", "validatingwebhookconfiguration")),
    *(("kubernetes.io", kind, member) for kind in ("serviceaccount", "secret") for member in ("name", "uid")),
]
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def changed(path: tuple[str, ...], value: Any, document: dict[str, Any] = VALID) -> dict[str, Any]:
    """Return claims with another value at a path."""
    if len(path) == 1:
        return {**document, path[0]: value}
    inner = document.get(path[0])
    return {**document, path[0]: changed(path[1:], value, inner if isinstance(inner, dict) else {})}


async def authenticated(claims: dict[str, Any]) -> AuthenticatedToken | None:
    """Authenticate a signed token with claims."""
    return await tokens_of({"bot": ACCOUNT, "s": SECRET}).authenticate(jwt.sign(claims, rsa_key()), ())


async def test_accepts_the_claims_unchanged() -> None:
    """Accept the claims that the other tests change."""
    found = await authenticated(VALID)

    assert found is not None
    assert found.user.name == "system:serviceaccount:shop:bot"


@given(path=st.sampled_from(PATHS), value=_VALUES)
async def test_refuses_other_types(path: tuple[str, ...], value: Any) -> None:
    """Refuse a signed token, and raise no other error, if a claim has another type; never accept one that has no time to expire."""
    try:
        found = await authenticated(changed(path, value))
    except TokenError:
        return

    if found is None:
        assert path == ("iss",)
        return
    name = path[-1]
    if name in {"exp", "nbf", "iat", "warnafter"}:
        assert value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        if name == "exp" and value is not None:
            assert value > NOW - 61
    elif name == "aud":
        assert value in ([], ISSUER) or ISSUER in value
    elif name == "attestations":
        assert value is None or isinstance(value, dict)
    else:
        assert value is None or isinstance(value, str)


@pytest.mark.parametrize(
    "claims, error",
    [
        ({"exp": "1"}, "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate"),
        ({"nbf": True}, "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate"),
        ({"aud": 5}, "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"),
        ({"aud": ["a", 5]}, "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"),
        ({"sub": ["a"]}, "json: cannot unmarshal array into Go value of type string"),
        ({"kubernetes.io": "x"}, "json: cannot unmarshal string into Go value of type serviceaccount.kubernetes"),
        ({"kubernetes.io": {"secret": True}}, "json: cannot unmarshal bool into Go value of type serviceaccount.ref"),
        ({"kubernetes.io": {"serviceaccount": {"name": ["x"]}}}, "json: cannot unmarshal array into Go value of type string"),
    ],
)
def test_words_of_errors(claims: dict[str, Any], error: str) -> None:
    """Name the wrong type as the reference does."""
    with pytest.raises(TokenError) as raised:
        decode(claims)

    assert str(raised.value) == error


@pytest.mark.parametrize("value, expiry", [(5, 5), (5.9, 5), (-5.9, -5), (1e300, -(2**63)), (2**63, -(2**63)), (None, None)])
def test_reads_times(value: Any, expiry: int | None) -> None:
    """Cut off parts of seconds; take what is beyond 64 bits as long ago."""
    assert decode({"exp": value}).expiry == expiry


def test_nothing_is_claimed() -> None:
    """Read a token without claims."""
    assert decode({}) == Claims(bound={})
