"""Tests of what the objects contain that a server makes for itself."""

import datetime
import json
from typing import Any

import pytest

from apiext.api.authentication.request_header import RequestHeaders
from apiext.api.serving.generated.control_plane import AuthenticationTrust, is_ready, token_tracking
from apiext.base.cert.issuing import new_authority

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
HEADERS = RequestHeaders(("X-User",), (), ("X-Group",), ("X-Extra-",))


def _authority(name: str, *, days: int = 0) -> str:
    return new_authority(name, NOW + datetime.timedelta(days=days), lifetime=datetime.timedelta(days=1)).cert.strip() + "\n"


def _trust(
    client: str = "", proxy: str = "", names: tuple[str, ...] = ("proxy",), headers: RequestHeaders = HEADERS
) -> AuthenticationTrust:
    return AuthenticationTrust(client, proxy, names, headers)


def test_client_authority_alone() -> None:
    """Publish nothing of front proxies without their authority."""
    client = _authority("client")
    assert _trust(client).joined({}, NOW) == {"client-ca-file": client}
    assert _trust().joined({}, NOW) == {}


def test_joins_other_servers() -> None:
    """Join lists and certificates with those of other servers, without expired and equal ones; drop other keys."""
    client, other, proxy = _authority("client"), _authority("other"), _authority("proxy")
    expired = _authority("expired", days=-2)
    data = {
        "client-ca-file": other + expired + client,
        "requestheader-client-ca-file": proxy,
        "requestheader-group-headers": '["X-Other","X-Group"]',
        "more": "x",
    }
    assert _trust(client, proxy).joined(data, NOW) == {
        "client-ca-file": other + client,
        "requestheader-client-ca-file": proxy,
        "requestheader-username-headers": '["X-User"]',
        "requestheader-group-headers": '["X-Other","X-Group"]',
        "requestheader-extra-headers-prefix": '["X-Extra-"]',
        "requestheader-allowed-names": '["proxy"]',
    }


def test_uid_headers() -> None:
    """Publish headers of uids if there are any."""
    headers = RequestHeaders(("X-User",), ("X-Uid",), ("X-Group",), ())
    found = _trust(proxy=_authority("proxy"), names=(), headers=headers).joined({}, NOW)
    assert {key: json.loads(value) for key, value in found.items() if key != "requestheader-client-ca-file"} == {
        "requestheader-username-headers": ["X-User"],
        "requestheader-uid-headers": ["X-Uid"],
        "requestheader-group-headers": ["X-Group"],
        "requestheader-extra-headers-prefix": [],
        "requestheader-allowed-names": [],
    }


@pytest.mark.parametrize("text", ["x", "{}", "[1]"])
def test_unreadable_lists(text: str) -> None:
    """Refuse a list that is none, as the reference's controller does."""
    proxy = _authority("proxy")
    with pytest.raises(ValueError, match=r"list of texts|Expecting value"):
        _trust(proxy=proxy).joined({"requestheader-allowed-names": text}, NOW)


@pytest.mark.parametrize(
    "data, expected",
    [
        (None, {"since": "2026-01-02"}),
        ({}, {"since": "2026-01-02"}),
        ({"since": "yesterday", "more": "x"}, {"since": "2026-01-02", "more": "x"}),
        ({"since": "2024-02-30"}, {"since": "2026-01-02"}),
        ({"since": "2024-02-29"}, None),
    ],
)
def test_token_tracking(data: dict[str, str] | None, expected: dict[str, str] | None) -> None:
    """Keep a date, and replace what is none."""
    assert token_tracking(NOW.date(), data) == expected


def _cidr(status: str = "", cidrs: str = "10.0.0.0/24", **metadata: Any) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": status}] if status else []
    return {"metadata": metadata, "spec": {"cidrs": [cidrs]}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    "cidr, expected",
    [
        (_cidr(), False),
        (_cidr("Unknown"), False),
        (_cidr("True"), True),
        (_cidr("False"), True),
        (_cidr(cidrs="10.1.0.0/24"), True),
        (_cidr(deletionTimestamp="2026-01-01T00:00:00Z"), True),
        ({"metadata": {}, "spec": {"cidrs": ["10.0.0.0/24"]}}, False),
    ],
)
def test_readiness(cidr: dict[str, Any], expected: bool) -> None:  # noqa: FBT001
    """Report only an own ServiceCIDR without a condition."""
    assert is_ready(cidr) is expected
