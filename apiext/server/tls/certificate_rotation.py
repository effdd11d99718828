"""Reloads certificate files that change, and renews the server's own certificates.

Mirrors apiserver pkg/server/dynamiccertificates (dynamic_serving_content.go, dynamic_cafile_content.go).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from apiext.base.meta.log import get_logger
from apiext.base.scheduling.ticks import until_tick
from apiext.server.start_error import StartError
from apiext.server.tls.context import TLSError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Stamp = tuple[int, int, int] | None

_LOG: Final = get_logger(__name__)
_STAT_INTERVAL: Final = 1.0
"""Seconds between checks of the files' attributes."""
_READ_INTERVAL: Final = 60.0
"""Seconds between checks of the files' contents, and of the validity of own certificates."""


class WatchedFiles:
    """Files to reload when they change. While a file is invalid, the previous content stays in use; the log gets one line.

    `reload` reads the files, returns whether the content differs, and raises TLSError.
    """

    def __init__(self, paths: Sequence[Path], reload: Callable[[], bool]) -> None:
        self._paths = paths
        self._reload = reload
        self._stamps: list[Stamp] | None = None
        self._problem = ""

    def check(self, *, reads: bool) -> None:
        """Reload the files if their attributes changed; with `reads`, reload them anyway."""
        stamps = [_stamp(path) for path in self._paths]
        if stamps == self._stamps and not reads:
            return
        self._stamps = stamps
        try:
            changed = self._reload()
        except TLSError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                _LOG.error("certificate file invalid, keeping the previous content", error=self._problem)
            return
        self._problem = ""
        if changed:
            _LOG.info("certificate files reloaded", files=[str(path) for path in self._paths])


class CertificateRotation:
    """Checks certificate files and the server's own certificates periodically."""

    def __init__(self, files: Sequence[WatchedFiles], renew: Callable[[], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._renew = renew
        self._clock = clock
        self._next_read = clock()
        self._problem = ""

    async def run(self) -> None:
        """Check periodically until cancelled."""
        while True:
            await self.check()
            await until_tick(_STAT_INTERVAL)

    async def check(self) -> None:
        """Run the checks that are due."""
        now = self._clock()
        reads = now >= self._next_read
        if reads:
            self._next_read = now + _READ_INTERVAL
            await asyncio.to_thread(self._renew_own)
        for files in self._files:
            files.check(reads=reads)

    def _renew_own(self) -> None:
        try:
            self._renew()
        except StartError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                _LOG.error("certificate renewal failed, retrying", error=self._problem)
            return
        self._problem = ""


def _stamp(path: Path) -> Stamp:
    """Return the attributes that change with a file's content or the target of its link, None for a missing file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
