"""Tests of apiext.tools.testkit.webhook_place."""

import base64
import ssl
from pathlib import Path
from typing import Any

import pytest

from apiext.tools.testkit.webhook_place import WebhookPlace

SERVICE = {"service": {"namespace": "system", "name": "hook", "path": "/convert", "port": 443}, "caBundle": "AAAA"}


def _crd(**conversion: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a.example.com"}, "spec": {"group": "example.com", "conversion": conversion}}


@pytest.mark.parametrize(
    "config,path",
    [(SERVICE, "/convert"), ({"url": "https://hook.example.com/a/b"}, "/a/b"), ({"service": {"name": "hook"}}, "/"), ({}, "/")],
)
def test_redirects_webhooks(tmp_path: Path, config: dict[str, Any], path: str) -> None:
    """Replace Service, URL and authority of a webhook, and keep its path and versions."""
    place = WebhookPlace.create(tmp_path)
    moved = place.redirect(_crd(strategy="Webhook", webhook={"clientConfig": config, "conversionReviewVersions": ["v1"]}))

    bundle = base64.b64encode((tmp_path / "ca.crt").read_bytes()).decode()
    wanted = {"url": f"https://127.0.0.1:{place.port}{path}", "caBundle": bundle}
    assert moved["spec"]["conversion"]["webhook"] == {"clientConfig": wanted, "conversionReviewVersions": ["v1"]}
    assert moved["spec"]["group"] == "example.com"


def test_leaves_other_definitions(tmp_path: Path) -> None:
    """Change no CRD without a webhook."""
    place = WebhookPlace.create(tmp_path)

    for crd in (_crd(strategy="None"), {"metadata": {"name": "b.example.com"}, "spec": {}}):
        assert place.redirect(crd) is crd


def test_issues_a_certificate(tmp_path: Path) -> None:
    """Write a key that belongs to the certificate, and that only the owner can read."""
    WebhookPlace.create(tmp_path)

    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    assert (tmp_path / "tls.key").stat().st_mode & 0o077 == 0
