"""Sources of the CA bundle of apiext's certificate."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Final

from apiext.base.meta.log import get_logger

_LOG: Final = get_logger(__name__)
_POLL_SECONDS: Final = 1.0
"""Seconds between reads of the file: file notifications miss some updates of mounted volumes."""


class CABundleSource:
    """A CA bundle in PEM with awaitable changes. This base class publishes an empty one: the host trusts its system's authorities."""

    def __init__(self) -> None:
        self.bundle = ""
        """Empty until it is known."""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Keep the bundle up to date until cancelled."""

    def mark_distributed(self, bundle: str) -> None:
        """Record that all APIServices have a CA bundle."""

    def publish(self, bundle: str) -> None:
        """Set the bundle."""
        if bundle != self.bundle:
            self.bundle = bundle
            self._changed.set()

    async def changed(self, known: str) -> str:
        """Wait until the bundle differs from the known one, and return it."""
        while self.bundle == known:
            self._changed.clear()
            await self._changed.wait()
        return self.bundle


class CABundleFile(CABundleSource):
    """The CA bundle of a file, reloaded when it changes. For an invalid file it logs an error and keeps the last bundle."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._problem = ""
        self.read()

    async def run(self) -> None:
        """Read the file periodically until cancelled."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            self.read()

    def read(self) -> None:
        """Read the file once, and publish its bundle."""
        try:
            bundle = read_ca_bundle(self._path)
        except (OSError, ValueError) as error:
            if str(error) != self._problem:
                _LOG.error("invalid CA bundle file, keeping the last bundle", file=str(self._path), error=str(error))
            self._problem = str(error)
            return
        self._problem = ""
        self.publish(bundle)


def read_ca_bundle(path: Path) -> str:
    """Return the certificates of a file in PEM.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no valid certificate.
    """
    text = path.read_text(encoding="ascii", errors="replace")
    try:
        # an empty text would mean the system's authorities
        ssl.create_default_context(cadata=text or " ")
    except (ssl.SSLError, ValueError) as error:
        raise ValueError("it holds no certificate in PEM that can be used") from error
    return text
