"""Whose certificates of apiext the host should believe, where a file says it."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Final, Protocol

from apiext.meta.log import get_logger

if TYPE_CHECKING:
    from pathlib import Path

_LOG: Final = get_logger(__name__)
_LOOK: Final = 1.0
"""Seconds between looks at the file, which costs next to nothing; a mounted volume changes in ways that not every notification tells."""


class Authorities(Protocol):
    """Authorities in PEM that may change."""

    bundle: str
    """Empty until they are known."""

    async def run(self) -> None:
        """Keep them up to date until it is cancelled."""
        ...

    async def changed(self, known: str) -> str:
        """The authorities, once they are others than the known ones."""
        ...

    def spread(self, bundle: str) -> None:
        """The host believes these now."""
        ...


class Announced:
    """Authorities that are told to who waits for others than it knows; `bundle` is empty until the first are known."""

    def __init__(self) -> None:
        self.bundle = ""
        self._changed = asyncio.Event()

    def announce(self, bundle: str) -> None:
        """These hold from now on."""
        if bundle != self.bundle:
            self.bundle = bundle
            self._changed.set()

    async def changed(self, known: str) -> str:
        """See Authorities."""
        while self.bundle == known:
            self._changed.clear()
            await self._changed.wait()
        return self.bundle


class AuthorityFile(Announced):
    """Those of a file, which is read again when it changes; what is no certificate is told, and changes nothing."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._problem = ""
        self._look()

    async def run(self) -> None:
        """See Authorities."""
        while True:
            await asyncio.sleep(_LOOK)
            self._look()

    def spread(self, bundle: str) -> None:
        """See Authorities."""

    def _look(self) -> None:
        try:
            bundle = read_authorities(self._path)
        except (OSError, ValueError) as error:
            if str(error) != self._problem:
                _LOG.error("authorities cannot be used; those before stay", file=str(self._path), error=str(error))
            self._problem = str(error)
            return
        self._problem = ""
        self.announce(bundle)


class SystemAuthorities(Announced):
    """Those that the host believes anyway: none are named, ever."""

    async def run(self) -> None:
        """See Authorities."""
        await asyncio.Event().wait()

    def spread(self, bundle: str) -> None:
        """See Authorities."""


def read_authorities(path: Path) -> str:
    """The certificates of a file. Raises OSError, or ValueError where it holds none that can be used."""
    text = path.read_text(encoding="ascii", errors="replace")
    try:
        # an empty text would mean the system's
        ssl.create_default_context(cadata=text or " ")
    except (ssl.SSLError, ValueError) as error:
        raise ValueError("it holds no certificate in PEM that can be used") from error
    return text
