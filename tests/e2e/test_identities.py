"""Authentication of requests by apiext and by kube-apiserver, with the same authorities."""

from itertools import product
from typing import Final

import pytest

from hack.lib.servers.caller import Answer, Caller, Headers
from tests.e2e.cluster import PLAIN, SERVED, Cluster

pytestmark = pytest.mark.slow
MASTERS: Final = ("X-Remote-Group", "system:masters")
HEADERS: Final[dict[str, list[tuple[str, str]]]] = {
    "none": [],
    "a user": [("X-Remote-User", "eve")],
    "a user of a group": [("x-remote-user", "eve"), MASTERS],
    "a group alone": [MASTERS],
    "an empty user": [("X-Remote-User", ""), MASTERS],
    "a user with more": [("X-Remote-User", "eve"), ("X-Remote-Uid", "7"), ("X-Remote-Extra-A%2fb", "c"), ("X-Remote-Extra-%zz", "d")],
    "the anonymous user": [("X-Remote-User", "system:anonymous")],
    "an unauthenticated user": [("X-Remote-User", "eve"), ("X-Remote-Group", "system:unauthenticated")],
    "a wrong token": [("X-Remote-User", "eve"), ("Authorization", "Bearer wrong")],
    "a wrong token alone": [("Authorization", "Bearer wrong")],
    "bytes for a token": [("Authorization", "Bearer \xff")],
    "a blank before the token": [("Authorization", "Bearer  wrong")],
    "another scheme": [("Authorization", "Basic YTpi")],
}
PATHS: Final = ("/apis/{}/v1/widgets", "/metrics")


def _answer(caller: Caller, group: str, path: str, headers: Headers) -> Answer:
    code, body = caller.ask("GET", path.format(group), headers=headers)
    told = body.get("message", body.get("kind")) if isinstance(body, dict) else ""
    return code, str(told).replace(group, "GROUP")


def test_authenticates_as_kube_apiserver_does(cluster: Cluster) -> None:
    """Authenticate every kind of certificate with every kind of header as kube-apiserver does."""
    plane = cluster.plane
    certificates = {
        "none": None,
        "a client's": plane.authority.issue("bob", groups=["devs"]),
        "an admin's": plane.admin,
        "a front proxy's": plane.proxy_client,
        "another front proxy's": plane.front_proxy.issue("another-proxy"),
    }
    different = {}
    for (name, pair), (what, headers), path in product(certificates.items(), HEADERS.items(), PATHS):
        reference = _answer(Caller(plane.url, plane.ca, pair), PLAIN, path, headers)
        caller = Caller(cluster.apiext.url, cluster.authority.cert, pair)
        own = [_answer(caller, group, path, headers) for group in (SERVED if "{}" in path else SERVED[:1])]
        if set(own) != {reference}:
            different[f"certificate: {name}; headers: {what}; {path}"] = (reference, *own)

    assert different == {}
