"""Credentials that expire: those of exec plugins and auth providers (client-go plugin/pkg/client/auth)."""

from __future__ import annotations

import asyncio
import base64
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from apiext.base.scheduling.tasks import shared_task

EXPIRY_MARGIN: Final = 10.0
"""Seconds before the expiry of a credential at which it is renewed."""
REJECTION_INTERVAL: Final = 10.0
"""Seconds after a rejection during which further rejections renew nothing."""


class CredentialError(Exception):
    """A plugin or an identity provider returned no credential. The message is one line with the reason, and a plugin's stderr."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The authentication of requests; an empty one means anonymous requests."""

    authorization: str = ""
    """The Authorization header."""
    certificate: bytes = b""
    """A client certificate and its key, in PEM."""
    expires: float = math.inf
    """Seconds since the epoch."""


class CachedCredential:
    """Caches a credential until it expires or is rejected. Concurrent callers share one call of `fetch`; failures are not cached."""

    def __init__(self, fetch: Callable[[], Awaitable[Credential]], *, clock: Callable[[], float] = time.time) -> None:
        self._fetch = fetch
        self._clock = clock
        self._credential: Credential | None = None
        self._fetching: asyncio.Task[Credential] | None = None
        self._rejected = -math.inf

    async def get(self) -> Credential:
        """Return the credential. Fetch a new one unless the cached one is valid for EXPIRY_MARGIN seconds.

        Raises:
            CredentialError: `fetch` failed.
        """
        credential = self._credential
        if credential is not None and self._clock() < credential.expires - EXPIRY_MARGIN:
            return credential
        task = self._fetching
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
            task = self._fetching = shared_task(self._renew())
        # a cancelled caller must not cancel the fetch for the others
        return await asyncio.shield(task)

    def reject(self, credential: Credential) -> bool:
        """Drop a credential after a 401; return whether to send the request again with a new one."""
        if self._credential is credential:
            if self._clock() - self._rejected < REJECTION_INTERVAL:
                return False
            self._rejected = self._clock()
            self._credential = None
        return True

    async def _renew(self) -> Credential:
        credential = self._credential = await self._fetch()
        return credential


def basic_authorization(user: str, password: str) -> str:
    """Return the Authorization header of HTTP basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
