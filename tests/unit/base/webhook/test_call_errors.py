"""Errors of calls in the words of Go's net/http."""

from pathlib import Path

import pytest

from apiext.base.webhook import hook_client as call_errors


@pytest.mark.parametrize(
    "configuration, place",
    [
        ("search x\nnameserver 10.0.0.10\nnameserver 10.0.0.11\n", " on 10.0.0.10:53"),
        ("nameserver ::1\n", " on [::1]:53"),
        ("", ""),
        (None, ""),
    ],
)
def test_unknown_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configuration: str | None, place: str) -> None:
    """Name the first name server."""
    path = tmp_path / "resolv.conf"
    if configuration is not None:
        path.write_text(configuration)
    monkeypatch.setattr(call_errors, "RESOLV_CONF", path)

    assert call_errors.unknown_host("a.example.com") == f"dial tcp: lookup a.example.com{place}: no such host"
