"""Tests of authentication, impersonation and CORS: both servers with the same tokens, headers and RBAC."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import pytest

from tests.differential.helpers.secured_pair import BASE, ROOT, Guarded, Header, by, guarded, user
from tests.differential.helpers.wire import request
from tests.support.servers.in_process import CRDS

pytestmark = pytest.mark.slow

FLAGS: Final = (
    r"--cors-allowed-origins=//good\.example(:|$),^https://x$",
    "--strict-transport-security-directives=max-age=31536000,includeSubDomains",
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Start both servers with allowed origins."""
    with guarded(tmp_path_factory.mktemp("access"), *FLAGS) as both:
        yield both


def test_credentials(servers: Guarded) -> None:
    """Refuse requests without credentials, with wrong ones, and with insufficient rights alike."""
    paths = ("/healthz", "/readyz/ping", "/metrics", "/unknown", "/a<b>", BASE, f"{BASE}/a", f"{BASE}/a/status", CRDS)
    refused = [by(who, "GET", path) for who, path in product(("", "wrong"), paths)]
    less = ("/metrics", f"{ROOT}/gadgets", f"{BASE}/a/status", CRDS, "/apis/no.such/v1/things/x", f"{ROOT}/watch/gadgets", "/a<b>")
    allowed = [by("ann", "GET", path) for path in (BASE, f"{BASE}/a", *less)]
    allowed += [by("ann", method, path) for method, path in product(("PUT", "DELETE", "PROPFIND", "OPTIONS"), (BASE, f"{BASE}/a"))]
    rendered = [by("ann", "GET", f"{ROOT}/gadgets", ("Accept", "application/yaml")), by("ann", "HEAD", f"{ROOT}/gadgets")]

    servers.check([*refused, *allowed, *rendered, by("root", "GET", f"{BASE}/a")])


def test_authorization_headers(servers: Guarded) -> None:
    """Parse valid and invalid bearer tokens alike."""
    texts: tuple[str, ...] = ("", "Bearer", "Bearer ", "bearer ann-token", "BEARER ann-token", "Bearer  ann-token", "Bearer ann-token x")
    texts += ("Bearer\tann-token", "Basic dTpw", "ann-token", "Bearer ann-token,x", "Token ann-token", " Bearer ann-token")
    twice = [("Authorization", "Bearer ann-token"), ("Authorization", "Bearer x")]
    raws = [request("GET", f"{BASE}/a", [("Authorization", text)]) for text in texts]
    raws += [request("GET", f"{BASE}/a", twice), request("GET", f"{BASE}/a", twice[::-1])]
    raws.append(by("ann", "GET", f"{BASE}/a", ("X-Remote-User", "root"), ("X-Remote-Group", "system:masters")))

    servers.check(raws)


def test_impersonation(servers: Guarded) -> None:
    """Impersonate each attribute of a user alike, for users with no, some and all rights to impersonate."""
    ann, group, extra = user("ann"), "Impersonate-Group", "Impersonate-Extra-a.b%2Fc"
    facts: list[list[Header]] = [
        *(
            [user(name)]
            for name in ("ann", "dave", "eve", "<eve>", "system:anonymous", "system:node:n1", "system:node:n2", "system:node:N_")
        ),
        *([user(f"system:serviceaccount:{name}")] for name in ("default:x", "default:y", "x")),
        *([ann, (group, name)] for name in ("dev", "ops", "system:masters", "", "system:unauthenticated")),
        *([ann, ("Impersonate-Uid", uid)] for uid in ("7", "8")),
        *([ann, (f"Impersonate-Extra-{key}", "view")] for key in ("scopes", "a.b%2Fc", "%zz", "")),
        [ann, ("Impersonate-Extra-scopes", "edit")],
        [ann, *((group, f"g{number}") for number in range(5))],
        [ann, *((extra, f"v{number}") for number in range(5))],
        [user("system:serviceaccount:default:x"), (group, "g")],
        [user("system:node:n1"), (group, "g")],
        [(group, "g")],
        [user(""), (group, 'g"')],
        [(extra, "1"), ("Impersonate-Uid", "u")],
    ]
    raws = [by(who, "GET", f"{BASE}/a", *headers) for who, headers in product(("bob", "carl", "ann", "root", "agent"), facts)]
    paths = ("/metrics", BASE, f"{ROOT}/gadgets/a")
    raws += [by(who, method, path, ann) for who, method, path in product(("bob", "carl"), ("GET", "DELETE"), paths)]

    servers.check([*raws, by("", "GET", f"{BASE}/a", ann), by("wrong", "GET", f"{BASE}/a", ann)])


def test_other_origins(servers: Guarded) -> None:
    """Send equal CORS headers to allowed and other origins, also with refusals, and Strict-Transport-Security always."""
    origins = ("https://good.example", "http://good.example:80", "https://good.example.org", "https://x", "https://xy", "null", "")
    places = [("GET", "/healthz"), ("OPTIONS", BASE), ("OPTIONS", "/healthz"), ("GET", f"{BASE}/a"), ("POST", BASE)]
    raws = [by("root", method, path, ("Origin", origin)) for (method, path), origin in product(places, origins)]
    bad = [("wrong", BASE), ("", BASE), ("root", f"{BASE}?timeout=x"), ("root", "/api/v1/watch")]

    servers.check([*raws, *(by(who, "GET", path, ("Origin", "https://x")) for who, path in bad)])


@pytest.mark.parametrize("given", ["abc", "x" * 100, "a b", "<b>", ""])
def test_audit_ids(servers: Guarded, given: str) -> None:
    """Return a client's audit id alike."""
    servers.check([by("root", "GET", f"{BASE}/a", ("Audit-ID", given))])
