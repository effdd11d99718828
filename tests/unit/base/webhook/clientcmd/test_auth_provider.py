"""Kubeconfigs with auth providers."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.base.webhook.clientcmd.auth_provider import auth_provider
from apiext.base.webhook.clientcmd.credentials import CredentialError

PAST, FUTURE = 1_000_000_000, 4_102_444_800
"""Seconds since the epoch: in 2001, and the start of 2100."""


def _token(expires: int) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": expires, "name": "ü?>"}).encode()).decode().rstrip("=")
    return f"head.{payload}.signature"


class Issuer:
    """An identity provider that issues the same token for each refresh."""

    def __init__(self, token: str, status: int = 200) -> None:
        self._token = token
        self._status = status
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the configuration or a token."""
        if request.path == "/.well-known/openid-configuration":
            return web.json_response({"token_endpoint": str(request.url.with_path("/token"))})
        form = await request.post()
        self.asked.append((str(form["refresh_token"]), request.headers["Authorization"]))
        return web.json_response({"id_token": self._token, "refresh_token": "next"}, status=self._status)


async def test_oidc_refreshes(tmp_path: Path) -> None:
    """Return the ID token while it is valid, then refresh it, each time with the newest refresh token."""
    issuer = Issuer(_token(FUTURE))
    async with RawTestServer(issuer) as running:
        config: dict[str, Any] = {
            "idp-issuer-url": str(running.make_url("/")),
            "client-id": "id",
            "client-secret": "secret",
            "id-token": _token(FUTURE),
            "refresh-token": "first",
        }
        fetch = auth_provider({"name": "oidc", "config": config}, tmp_path)
        assert (await fetch()).expires == FUTURE
        assert issuer.asked == []
        assert (await fetch()).authorization == f"Bearer {_token(FUTURE)}"
        await fetch()
        await auth_provider({"name": "oidc", "config": config | {"id-token": _token(PAST)}}, tmp_path)()

    assert issuer.asked == [("first", "Basic aWQ6c2VjcmV0"), ("next", "Basic aWQ6c2VjcmV0"), ("first", "Basic aWQ6c2VjcmV0")]


async def test_oidc_fails(tmp_path: Path) -> None:
    """Raise an error for an expired ID token without a refresh token, and for a refused refresh."""
    with pytest.raises(CredentialError, match="there is no refresh-token"):
        await auth_provider({"name": "oidc", "config": {"id-token": _token(PAST)}}, tmp_path)()
    async with RawTestServer(Issuer("", status=400)) as running:
        config = {"idp-issuer-url": str(running.make_url("/")), "refresh-token": "old"}
        with pytest.raises(CredentialError, match="cannot be refreshed: 400"):
            await auth_provider({"name": "oidc", "config": config}, tmp_path)()
