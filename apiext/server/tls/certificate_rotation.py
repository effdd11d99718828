"""Keeps what connections begin with up to date: files that change are read anew, and the server's own certificates renewed.

Mirrors apiserver pkg/server/dynamiccertificates (dynamic_serving_content.go, dynamic_cafile_content.go).
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.server.start_error import StartError
from apiext.server.tls.context import TLSError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Stamp = tuple[int, int, int] | None

_LOG: Final = get_logger(__name__)
_GLANCE: Final = 1.0
"""Seconds between looks at what the system says of the files."""
_LOOK: Final = 60.0
"""Seconds between looks into the files, whatever the system says of them, and at the lives of own certificates."""


class Followed:
    """Files that are taken over when they change. What cannot be used leaves all as it was, and is logged once."""

    def __init__(self, paths: Sequence[Path], take: Callable[[], bool]) -> None:
        self._paths = paths
        self._take = take
        self._stamps: list[Stamp] | None = None
        self._problem = ""

    def look(self, *, into: bool) -> None:
        """Take the files over if they have changed; look into them also where the system says that they have not."""
        stamps = [_stamp(path) for path in self._paths]
        if stamps == self._stamps and not into:
            return
        self._stamps = stamps
        try:
            changed = self._take()
        except TLSError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                _LOG.error("changed files cannot be used, what was read before stays", error=self._problem)
            return
        self._problem = ""
        if changed:
            _LOG.info("changed files are used from now on", files=[str(path) for path in self._paths])


class Upkeep:
    """Looks after files and own certificates for as long as the server runs."""

    def __init__(self, followed: Sequence[Followed], renew: Callable[[], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._followed = followed
        self._renew = renew
        self._clock = clock
        self._next = clock()
        self._problem = ""

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_GLANCE)

    async def look(self) -> None:
        """Do what is due."""
        now = self._clock()
        into = now >= self._next
        if into:
            self._next = now + _LOOK
            await asyncio.to_thread(self._renewed)
        for files in self._followed:
            files.look(into=into)

    def _renewed(self) -> None:
        try:
            self._renew()
        except StartError as error:
            if str(error) != self._problem:
                self._problem = str(error)
                _LOG.error("own certificates cannot be renewed", error=self._problem)
            return
        self._problem = ""


def _stamp(path: Path) -> Stamp:
    """What changes with a file's content, or with the file that a link leads to."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
