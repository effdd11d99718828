"""What a host has authorized before it proxies."""

from dataclasses import replace

import pytest

from apiext.api.authorization.front_proxy import authorized_by_host, unsafe_front_proxies
from apiext.api.filters.request_info import request_info
from apiext.base.meta.request import RequestInfo
from tests.unit.api.filters.conftest import Exchange

GROUP = "example.com"
_AUTHORIZED = authorized_by_host(frozenset({GROUP}).__contains__)
_WIDGETS = f"/apis/{GROUP}/v1/namespaces/ns/widgets"


def _info(method: str, path: str) -> RequestInfo:
    return request_info(Exchange(method, path, {}, user=None, peer=None).request)


@pytest.mark.parametrize(
    "request_line",
    [
        f"GET /apis/{GROUP}/v1",
        f"GET {_WIDGETS}",
        f"GET {_WIDGETS}?watch=true&fieldSelector=metadata.name%3Da",
        f"GET {_WIDGETS}/a",
        f"HEAD {_WIDGETS}/a",
        f"POST {_WIDGETS}",
        f"PUT {_WIDGETS}/a.b-c/status",
        f"PATCH {_WIDGETS}/a/scale",
        f"DELETE {_WIDGETS}/a",
        f"DELETE {_WIDGETS}",
        f"GET /apis/{GROUP}/v1/watch/namespaces/ns/widgets",
    ],
)
def test_authorizes_what_a_host_proxies(request_line: str) -> None:
    """Take requests for the resources and the discovery of a served group as authorized."""
    assert _AUTHORIZED(_info(*request_line.split(" ", 1)))


@pytest.mark.parametrize(
    "request_line",
    [
        "GET /",
        "GET /metrics",
        "GET /apis",
        f"GET /apis/{GROUP}",
        f"GET /apis/{GROUP}/v1/",
        f"HEAD /apis/{GROUP}/v1",
        f"POST /apis/{GROUP}/v1",
        "GET /api/v1/namespaces/ns/events",
        "GET /apiext/versions",
        "GET /openapi/v3/apis/example.com/v1",
        "GET /apis/other.example.com/v1/widgets",
        "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        f"OPTIONS {_WIDGETS}/a",
        f"TRACE {_WIDGETS}/a",
        f"GET /apis/{GROUP}/v1/proxy/widgets/a",
        f"GET {_WIDGETS}/",
        f"GET /{_WIDGETS}/a",
        f"GET {_WIDGETS}//a",
        f"GET {_WIDGETS}/.",
        f"GET {_WIDGETS}/../secrets",
        f"GET {_WIDGETS}/%2e%2e/secrets",
        f"GET {_WIDGETS}/a%2Fb%20c",
        f"GET {_WIDGETS}/a%252Fb",
        f"GET {_WIDGETS}/a%0A",
        f"GET {_WIDGETS}/%FF",
        f"GET {_WIDGETS}/\u00fc",
        f"GET {_WIDGETS}/a;b",
        f"GET /apis/{GROUP.upper()}/v1/widgets",
    ],
)
def test_authorizes_nothing_else(request_line: str) -> None:
    """Leave to the other modes what a host does not proxy, or might read in another way."""
    assert not _AUTHORIZED(_info(*request_line.split(" ", 1)))


def test_authorizes_no_other_question() -> None:
    """Leave verbs to the other modes that no request has."""
    info = _info("DELETE", f"{_WIDGETS}/a")

    assert not _AUTHORIZED(replace(info, verb="unsafe-delete-ignore-read-errors"))
    assert not _AUTHORIZED(replace(info, verb="impersonate-on:user-info:delete"))


@pytest.mark.parametrize(
    "names, reason", [(["aggregator"], ""), ([], "every certificate"), (["aggregator", "login"], "2 names"), (None, "no front proxy is")]
)
def test_finds_unsafe_front_proxies(names: list[str] | None, reason: str) -> None:
    """Find that front proxies are not only the host."""
    found = unsafe_front_proxies(names)

    assert reason in found
    assert bool(found) is bool(reason)
