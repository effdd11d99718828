"""Credentials that expire."""

import asyncio

import pytest

from apiext.base.webhook.clientcmd.credentials import CachedCredential, Credential, CredentialError


class Plugin:
    """Returns a new credential for each call, or fails."""

    def __init__(self, *, lifetime: float = 100.0) -> None:
        self.now = 0.0
        self.calls = 0
        self.broken = False
        self._lifetime = lifetime

    async def fetch(self) -> Credential:
        """Return the next credential."""
        await asyncio.sleep(0)
        self.calls += 1
        if self.broken:
            raise CredentialError("broken")
        return Credential(str(self.calls), expires=self.now + self._lifetime)

    def cached(self) -> CachedCredential:
        """Return a cache of this plugin."""
        return CachedCredential(self.fetch, clock=lambda: self.now)


async def test_caches_until_the_expiry() -> None:
    """Fetch a credential once, and again ten seconds before it expires."""
    plugin = Plugin()
    cached = plugin.cached()
    found = []
    for plugin.now in (0.0, 89.0, 91.0, 180.0):
        found.append((await cached.get()).authorization)

    assert found == ["1", "1", "2", "2"]


async def test_concurrent_callers_share_one_fetch() -> None:
    """Call the plugin once for callers at the same time, also where one of them is cancelled."""
    plugin = Plugin()
    cached = plugin.cached()
    first, *others = (asyncio.create_task(cached.get()) for _ in range(3))
    await asyncio.sleep(0)
    first.cancel()

    assert [credential.authorization for credential in await asyncio.gather(*others)] == ["1", "1"]


async def test_does_not_cache_failures() -> None:
    """Raise the plugin's error for each call until it succeeds."""
    plugin = Plugin()
    cached, plugin.broken = plugin.cached(), True
    for _ in range(2):
        with pytest.raises(CredentialError, match="broken"):
            await cached.get()
    plugin.broken = False

    assert (await cached.get()).authorization == "3"


async def test_renews_a_rejected_credential() -> None:
    """Fetch a new credential after a rejection, but not again and again in ten seconds, and not for an old one."""
    plugin = Plugin()
    cached = plugin.cached()
    first = await cached.get()

    assert cached.reject(first)
    second = await cached.get()
    assert (second.authorization, cached.reject(first), cached.reject(second)) == ("2", True, False)
    assert await cached.get() is second
    plugin.now = 11.0
    assert cached.reject(second)
    assert (await cached.get()).authorization == "3"


def test_serves_several_event_loops() -> None:
    """Fetch on the caller's loop, and use the cached credential on another one."""
    plugin = Plugin()
    cached = plugin.cached()

    assert [asyncio.run(cached.get()).authorization for _ in range(2)] == ["1", "1"]
