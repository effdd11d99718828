"""The auth provider oidc of kubeconfigs (client-go plugin/pkg/client/auth/oidc).

Renewed tokens stay in memory; the kubeconfig is not written.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import ssl
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from yarl import URL

from apiext.base.tls_trust import trusting_context
from apiext.base.webhook.clientcmd.credentials import EXPIRY_MARGIN, Credential, CredentialError, basic_authorization
from apiext.base.webhook.proxy_environment import proxy_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

_TIMEOUT: Final = 30.0
"""Seconds for one call of an identity provider."""


def auth_provider(section: Mapping[str, Any], folder: Path) -> Callable[[], Awaitable[Credential]]:
    """Return a function that fetches the credential of a user's auth-provider section.

    Raises:
        ValueError: the provider is not supported, or its config is incomplete.
    """
    name, config = section.get("name"), section.get("config") or {}
    if name == "oidc":
        return _OpenID(config, folder).fetch
    raise ValueError(f"the user's auth-provider {name!r} is not supported; use an exec plugin")


class _OpenID:
    """Uses the ID token of the kubeconfig. Once it expires or is rejected, uses the refresh token."""

    def __init__(self, config: dict[str, Any], folder: Path) -> None:
        self._config = config
        self._cached = config.get("id-token") or ""
        self._refresh_token = config.get("refresh-token") or ""
        if not self._cached and not self._refresh_token:
            raise ValueError("the user's auth-provider oidc has neither id-token nor refresh-token")
        self._tls = _trust(config, folder)

    async def fetch(self) -> Credential:
        cached, self._cached = self._cached, ""
        if cached and time.time() < _expiry(cached) - EXPIRY_MARGIN:
            return _bearer(cached, _expiry(cached))
        if not self._refresh_token:
            raise CredentialError("auth-provider oidc: the ID token has expired or was rejected, and there is no refresh-token")
        try:
            answer = await self._refresh()
            token = str(answer["id_token"])
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError) as error:
            raise CredentialError(f"auth-provider oidc: the ID token cannot be refreshed: {str(error) or type(error).__name__}") from error
        self._refresh_token = str(answer.get("refresh_token") or self._refresh_token)
        return _bearer(token, _expiry(token))

    async def _refresh(self) -> dict[str, Any]:
        issuer = (self._config.get("idp-issuer-url") or "").rstrip("/")
        client = basic_authorization(self._config.get("client-id") or "", self._config.get("client-secret") or "")
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._tls), timeout=aiohttp.ClientTimeout(total=_TIMEOUT), raise_for_status=True
        ) as session:
            async with session.get(f"{issuer}/.well-known/openid-configuration", proxy=proxy_of(URL(issuer))) as response:
                url = str((await response.json(content_type=None))["token_endpoint"])
            form = {"grant_type": "refresh_token", "refresh_token": self._refresh_token}
            async with session.post(url, data=form, headers={"Authorization": client}, proxy=proxy_of(URL(url))) as response:
                answer: dict[str, Any] = await response.json(content_type=None)
                return answer


def _trust(config: Mapping[str, Any], folder: Path) -> ssl.SSLContext:
    """Return a context for the identity provider's authority, else the system's. Raises ValueError, OSError or ssl.SSLError."""
    data, path = config.get("idp-certificate-authority-data"), config.get("idp-certificate-authority")
    if data:
        return trusting_context(cadata=base64.b64decode(data, validate=True).decode())
    return trusting_context(cafile=folder / path if path else None)


def _bearer(token: str, expires: float) -> Credential:
    return Credential(authorization=f"Bearer {token}", expires=expires)


def _expiry(token: str) -> float:
    """Return the expiry of a JWT in seconds since the epoch: infinity without an expiry, 0 for an invalid JWT."""
    try:
        payload = token.split(".")[1]
        return float(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))).get("exp") or math.inf)
    except (ValueError, TypeError, IndexError, AttributeError, binascii.Error):
        return 0.0
