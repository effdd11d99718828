"""Sources of the CA bundle of apiext's certificate."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta.log import get_logger

if TYPE_CHECKING:
    from pathlib import Path

_LOG: Final = get_logger(__name__)
_POLL_SECONDS: Final = 1.0
"""Interval of reads of the file; file notifications do not report every kind of update of a mounted volume."""


class CABundleSource(Protocol):
    """A CA bundle in PEM that may change."""

    bundle: str
    """Empty until it is known."""

    async def run(self) -> None:
        """Keep the bundle up to date until cancelled."""
        ...

    async def changed(self, known: str) -> str:
        """Wait until the bundle differs from the known one, and return it."""
        ...

    def mark_distributed(self, bundle: str) -> None:
        """Note that all APIServices have a CA bundle."""
        ...


class PublishedBundle:
    """A CA bundle whose changes can be awaited."""

    def __init__(self) -> None:
        self.bundle = ""
        self._changed = asyncio.Event()

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


class CABundleFile(PublishedBundle):
    """The CA bundle of a file, read again when it changes; an invalid file is logged, and the last bundle stays."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._problem = ""
        self._read()

    async def run(self) -> None:
        """Read the file periodically until cancelled."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            self._read()

    def mark_distributed(self, bundle: str) -> None:
        """Do nothing."""

    def _read(self) -> None:
        try:
            bundle = read_ca_bundle(self._path)
        except (OSError, ValueError) as error:
            if str(error) != self._problem:
                _LOG.error("invalid CA bundle file, keeping the last bundle", file=str(self._path), error=str(error))
            self._problem = str(error)
            return
        self._problem = ""
        self.publish(bundle)


class SystemCABundle(PublishedBundle):
    """The empty CA bundle: the host trusts its system's authorities."""

    async def run(self) -> None:
        """Wait until cancelled."""
        await asyncio.Event().wait()

    def mark_distributed(self, bundle: str) -> None:
        """Do nothing."""


def read_ca_bundle(path: Path) -> str:
    """Return the certificates of a file in PEM.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no valid certificate.
    """
    text = path.read_text(encoding="ascii", errors="replace")
    try:
        # an empty text would load the system's authorities
        ssl.create_default_context(cadata=text or " ")
    except (ssl.SSLError, ValueError) as error:
        raise ValueError("it holds no certificate in PEM that can be used") from error
    return text
