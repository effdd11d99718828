"""Tokens of service accounts: requests, reviews, authentication, and the documents of OpenID Connect."""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.api.authentication.serviceaccount import service_account_tokens as jwt
from apiext.api.authentication.serviceaccount.keys import read_signing_key
from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.kubectl import Kubectl
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.rbac_pair import ISSUER, RBACPair, must

pytestmark = pytest.mark.slow

ACCOUNTS: Final = "/api/v1/namespaces/rbac-a/serviceaccounts"
TOKEN: Final = f"{ACCOUNTS}/bot/token"
SECRETS: Final = "/api/v1/namespaces/rbac-a/secrets"
REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_SECRET_REF: Final = {"kind": "Secret", "apiVersion": "v1", "name": "bound"}
_TOKENS: Final = 100
"""Reviews within which the reference sees that a service account was created again."""
_JWT: Final = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_MADE: Final = re.compile(r"JTI=[0-9a-f-]+")


@pytest.fixture(scope="module", autouse=True)
def account(servers: RBACPair) -> None:
    """Create a service account."""
    for side in (servers.pair.reference, servers.pair.ours):
        must(side, Step("POST", ACCOUNTS, {"metadata": {"name": "bot"}}))


def _masked(body: Any) -> Any:
    """Return a body without tokens, their IDs and times."""
    text = _MADE.sub("<jti>", _JWT.sub("<token>", json.dumps(body)))
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>", text)


def _equal(pair: Pair, steps: tuple[Step, Step]) -> list[str]:
    """Return a line if the answers of the reference and of apiext differ."""
    answers = [side.ask(step) for side, step in zip((pair.reference, pair.ours), steps, strict=True)]
    shown = [replace(answer, body=_masked(answer.body)) for answer in answers]
    return [] if shown[0] == shown[1] else [f"{steps[0]}\n    reference: {shown[0]}\n    apiext:    {shown[1]}"]


def test_token_requests(servers: RBACPair) -> None:
    """Validate and answer token requests alike."""
    specs: tuple[dict[str, Any], ...] = ({}, {"expirationSeconds": 599}, {"expirationSeconds": 2**33}, {"expirationSeconds": 600})
    specs += ({"audiences": ["a", "b"]}, {"attestations": {"a": ["b"]}}, {"audiences": 7})
    specs += tuple({"boundObjectRef": {**_SECRET_REF, **other}} for other in ({"kind": "Pod"}, {"kind": "Foo", "apiVersion": "a/v1"}))
    bodies: list[Any] = [{"spec": spec} for spec in specs]
    bodies += [
        {"metadata": metadata}
        for metadata in ({"name": "x"}, {"name": "bot", "uid": "u"}, {"namespace": "x"}, {"name": "bot", "labels": {"a": "b"}})
    ]
    bodies += [{"kind": "Foo", "apiVersion": "v1"}, b"", b"{", {"x": 1}]
    steps = [Step("POST", TOKEN, body) for body in bodies]
    steps += [Step("POST", f"{TOKEN}?{query}", {"spec": {"x": 1}}) for query in ("dryRun=All", "fieldValidation=Strict", "fieldManager=m")]
    steps += [Step("POST", f"{ACCOUNTS}/none/token", {}), Step("POST", "/api/v1/namespaces/none/serviceaccounts/a/token", {})]
    steps += [Step(method, TOKEN, {} if method == "PUT" else None) for method in ("GET", "PUT", "DELETE")]

    assert_none([line for step in steps for line in _equal(servers.pair, (step, step))])


def _issued(side: Side, spec: Mapping[str, Any] | None = None) -> str:
    return str(must(side, Step("POST", TOKEN, {"spec": spec or {}}))["status"]["token"])


def _claims(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    parsed = jwt.parse(token)
    assert parsed is not None
    return parsed.header, parsed.claims


def test_claims(servers: RBACPair) -> None:
    """Put the same members into tokens, with the same key."""
    for spec in ({}, {"audiences": ["a"]}, {"expirationSeconds": 7200}):
        (theirs_head, theirs), (ours_head, ours) = (_claims(_issued(side, spec)) for side in (servers.pair.reference, servers.pair.ours))
        assert theirs_head == ours_head
        assert list(theirs) == list(ours)
        assert list(theirs["kubernetes.io"]) == list(ours["kubernetes.io"])
        assert [theirs[name] for name in ("aud", "iss", "sub")] == [ours[name] for name in ("aud", "iss", "sub")]
        assert theirs["exp"] - theirs["iat"] == ours["exp"] - ours["iat"]


def test_token_reviews(servers: RBACPair) -> None:
    """Accept and refuse tokens alike, with the same texts."""
    key = read_signing_key((servers.kubeconfigs[0].parent / "pki" / "service-account.key").read_bytes())
    found: list[tuple[Step, Step]] = []
    pairs = [tuple(_issued(side, spec) for side in (servers.pair.reference, servers.pair.ours)) for spec in ({}, {"audiences": ["a", "b"]})]
    for tokens in pairs:
        found += [_reviews(tokens, audiences) for audiences in ([], ["a", "x"], ["x"], [ISSUER])]
    claims = [_claims(token)[1] for token in pairs[0]]
    now = claims[0]["iat"]
    changes: tuple[dict[str, Any], ...] = (
        {"exp": now - 100},
        {"nbf": now + 1000},
        {"iat": now + 1000},
        {"aud": ISSUER},
        {"aud": []},
        {"exp": None},
    )
    changes += (
        {"iss": "q"},
        {"jti": ""},
        {"sub": "x"},
        {"kubernetes.io": {"namespace": "rbac-a", "serviceaccount": {"name": "x", "uid": "y"}}},
    )
    for change in changes:
        found.append(_reviews([jwt.sign({**one, **change}, key) for one in claims], []))
    for broken in (
        ["abc"] * 2,
        ["a.b.c"] * 2,
        [token[:-4] + "AAAA" for token in pairs[0]],
        [_with_header(token, kid="z") for token in pairs[0]],
    ):
        found.append(_reviews(broken, []))

    assert_none([line for steps in found for line in _equal(servers.pair, steps)])


_OTHERS: Final[tuple[Any, ...]] = (None, True, 5, 1.5, -1, 1e300, 2**63, "x", "9999999999", [], ["x"], [5], {}, {"a": 1}, {"name": 5})
_CLAIMED: Final = ("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "kubernetes.io")
_NAMED: Final = ("namespace", "serviceaccount", "secret", "pod", "node", "validatingwebhookconfiguration", "attestations", "warnafter")


def _changed_claims(claims: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return claims with a value of each type in the place of each claim."""
    private = claims["kubernetes.io"]
    for value in _OTHERS:
        yield from ({**claims, name: value} for name in _CLAIMED)
        yield from ({**claims, "kubernetes.io": {**private, name: value}} for name in _NAMED)
        for member in ("name", "uid"):
            named = {**private["serviceaccount"], member: value}
            yield {**claims, "kubernetes.io": {**private, "serviceaccount": named}}
        yield {**claims, "kubernetes.io": {**private, "attestations": {"a": value}}}


def test_types_of_claims(servers: RBACPair) -> None:
    """Refuse signed tokens whose claims have other types, with the same texts."""
    key = read_signing_key((servers.kubeconfigs[0].parent / "pki" / "service-account.key").read_bytes())
    claims = [_claims(_issued(side))[1] for side in (servers.pair.reference, servers.pair.ours)]
    changes = zip(*map(_changed_claims, claims), strict=True)

    _assert_equal_users(servers.pair, [_reviews([jwt.sign(one, key) for one in both], []) for both in changes])


def test_forms_of_tokens(servers: RBACPair) -> None:
    """Refuse other headers and other base64 alike."""
    tokens = [_issued(side) for side in (servers.pair.reference, servers.pair.ours)]
    headers: tuple[dict[str, Any], ...] = ({"kid": 5}, {"alg": 5}, {"alg": None}, {"nonce": 5}, {"crit": ["exp"]}, {"kid": None})
    found = [_reviews([_with_header(token, **header) for token in tokens], []) for header in headers]
    for _ in range(5):
        parts = [_issued(side).rsplit(".", 1) for side in (servers.pair.reference, servers.pair.ours)]
        for change in (
            lambda text: text.replace("-", "+").replace("_", "/"),
            lambda text: text + "==",
            lambda text: f"{text[:9]}\r\n{text[9:]}",
            lambda text: text + "\n",
            lambda text: text + " ",
            lambda text: text[:-1],
        ):
            if all(change(signature) != signature for _, signature in parts):
                found += [_reviews([f"{head}.{change(signature)}" for head, signature in parts], [])]

    _assert_equal_users(servers.pair, found)


def _assert_equal_users(pair: Pair, reviews: Sequence[tuple[Step, Step]]) -> None:
    """Assert that the tokens of each pair of reviews have equal users, or equal errors."""
    differing = []
    for steps in reviews:
        theirs, ours = (side.ask(step).body["status"] for side, step in zip((pair.reference, pair.ours), steps, strict=True))
        if theirs != ours:
            differing.append(f"{steps[0].body}\n    reference: {theirs}\n    apiext:    {ours}")
    assert_none(differing)


def _with_header(token: str, **members: Any) -> str:
    head, rest = token.split(".", 1)
    parsed = json.loads(base64.urlsafe_b64decode(head + "=="))
    return f"{base64.urlsafe_b64encode(json.dumps(parsed | members).encode()).decode().rstrip('=')}.{rest}"


def _reviews(tokens: Any, audiences: list[str]) -> tuple[Step, Step]:
    theirs, ours = (Step("POST", REVIEWS, {"spec": {"token": token, "audiences": audiences}}) for token in tokens)
    return theirs, ours


def test_deleted_accounts(servers: RBACPair) -> None:
    """Refuse tokens whose service account is gone, or was created again."""
    sides = (servers.pair.reference, servers.pair.ours)
    for side in sides:
        must(side, Step("POST", ACCOUNTS, {"metadata": {"name": "short"}}))
    issue = Step("POST", f"{ACCOUNTS}/short/token", {})
    tokens = [[must(side, issue)["status"]["token"] for _ in range(_TOKENS)] for side in sides]
    for side in sides:
        must(side, Step("DELETE", f"{ACCOUNTS}/short"))
        must(side, Step("POST", ACCOUNTS, {"metadata": {"name": "short"}}))

    # each token is reviewed once, since the reference caches the users of tokens
    theirs, ours = ([_status(side, token) for token in own] for side, own in zip(sides, tokens, strict=True))

    assert theirs[-1] == ours[0] == ours[-1]
    assert "does not match claim" in ours[0]["error"]


def _status(side: Side, token: str) -> Any:
    """Return the status of a review, without uids."""
    status = must(side, Step("POST", REVIEWS, {"spec": {"token": token}}))["status"]
    return json.loads(re.sub(r"\([0-9a-f-]{36}\)", "(uid)", json.dumps(status)))


def test_other_bound_objects(servers: RBACPair) -> None:
    """Refuse tokens bound to other kinds with the reference's texts."""
    versions = ("", "v1", "v2", "apps", "apps/v1", "a/b/c", "/", "/v1", "v1/", "admissionregistration.k8s.io/v1")
    kinds = ("ConfigMap", "Pod", "Node", "Secret", "", "configmap", "ValidatingWebhookConfiguration")
    specs: list[dict[str, Any]] = [
        {"boundObjectRef": {"kind": kind, "apiVersion": version, "name": "none"}} for version in versions for kind in kinds
    ]
    webhook = {"kind": "MutatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1", "name": "none"}
    groups: list[Any] = [["*"], ["apps"], ["a.b/c"], ["Bad_"], [""], [], None, ["a", "b"]]
    attestations = [{"admissionReviewAPIGroups": values} for values in groups] + [{"x": ["a"]}, {"x": [], "y": []}]
    specs += [{"boundObjectRef": webhook, "attestations": attestation} for attestation in attestations]
    specs += [{"boundObjectRef": webhook, "audiences": audiences, "expirationSeconds": 1} for audiences in (["a"], ["a", "b"], [])]
    specs.append({"boundObjectRef": webhook, "audiences": ["a"], "attestations": {"admissionReviewAPIGroups": ["*"]}})
    steps = [Step("POST", TOKEN, {"spec": spec}) for spec in specs]

    assert_none([line for step in steps for line in _equal(servers.pair, (step, step))])


def test_bound_tokens(servers: RBACPair) -> None:
    """Bind tokens to secrets, and refuse them without the secret."""
    sides = (servers.pair.reference, servers.pair.ours)
    for side in sides:
        must(side, Step("POST", SECRETS, {"metadata": {"name": "bound"}}))
    changes: tuple[dict[str, str], ...] = ({}, {"uid": "x"}, {"name": "no"}, {"apiVersion": ""})
    steps = [Step("POST", TOKEN, {"spec": {"boundObjectRef": {**_SECRET_REF, **change}}}) for change in changes]
    lines = [line for step in steps for line in _equal(servers.pair, (step, step))]
    issue = {"boundObjectRef": _SECRET_REF}
    theirs, ours = ([_issued(side, issue) for _ in range(_TOKENS)] for side in sides)
    assert list(_claims(theirs[0])[1]["kubernetes.io"]) == list(_claims(ours[0])[1]["kubernetes.io"])
    valid = _equal(servers.pair, _reviews((theirs[0], ours[0]), []))
    for side in sides:
        must(side, Step("DELETE", f"{SECRETS}/bound"))

    refused = [[_status(side, token) for token in own[1:]][-1] for side, own in zip(sides, (theirs, ours), strict=True)]

    assert_none([*lines, *valid])
    assert refused[0] == refused[1]
    assert "has been invalidated" in refused[0]["error"]


def test_openid_documents(servers: RBACPair) -> None:
    """Serve the same documents about keys."""
    for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
        (theirs, data), (ours, own) = (side.raw(Step("GET", path)) for side in (servers.pair.reference, servers.pair.ours))
        texts = [re.sub(rb":\d+/", b":PORT/", text) for text in (data, own)]
        assert texts[0] == texts[1]
        assert [theirs.headers[name] for name in ("Content-Type", "Cache-Control")] == [
            ours.headers[name] for name in ("Content-Type", "Cache-Control")
        ]


def _lines(output: str) -> list[str]:
    """Return the lines and their words in order, since kubectl joins verbs of rules in a random order, too."""
    return sorted(" ".join(sorted(re.findall(r"[^\s\[\]]+", line))) for line in re.sub(r"\S+Z\b", "<time>", output).splitlines())


def test_kubectl(servers: RBACPair, tmp_path: Path) -> None:
    """Print the same with kubectl auth whoami, auth can-i and auth can-i --list."""
    commands = (
        ("auth", "whoami", "-o", "json", "--as=ann", "--as-group=dev"),
        ("auth", "whoami", "--as=ann", "--as-group=dev"),
        ("auth", "can-i", "--list", "--as=nobody", "-n", "rbac-a"),
        ("auth", "can-i", "--list", "--as=system:kube-scheduler"),
        ("auth", "can-i", "get", "serviceaccounts", "--as=nobody"),
        ("auth", "can-i", "create", "serviceaccounts", "-v=0"),
        ("auth", "can-i", "get", "/version", "--as=nobody"),
    )
    clients = [Kubectl(kubeconfig, tmp_path) for kubeconfig in servers.kubeconfigs]
    for command in commands:
        theirs, ours = (kubectl.run(*command).stdout for kubectl in clients)
        # the reference lists rules in a random order, which kubectl sorts in part
        assert _lines(theirs) == _lines(ours), command
    for kubectl in clients:
        assert _claims(kubectl("create", "token", "bot", "-n", "rbac-a", "--duration=20m").strip())[1]["sub"].endswith(":bot")
