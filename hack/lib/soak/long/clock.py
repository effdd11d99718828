"""A clock of a server that can be set, with libfaketime of Debian; the monotonic clock keeps its time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hack.lib import debian

_LIBRARIES: Final = "/usr/lib/*/faketime/libfaketime.so.1"
_PACKAGE: Final = "libfaketime"
_CACHE_SECONDS: Final = "1"
"""Seconds until a process reads its file again."""


class NoClockError(Exception):
    """Clocks cannot be set; the message is one line with the reason."""


def library() -> Path:
    """Return the library. Install it if it is missing, this is Debian and the user is root.

    Raises:
        NoClockError: It cannot be installed.
    """
    if found := _installed():
        return found
    try:
        debian.install(_PACKAGE)
    except debian.NoPackageError as error:
        raise NoClockError(str(error)) from error
    if found := _installed():
        return found
    raise NoClockError(f"the package {_PACKAGE} has no {_LIBRARIES}")


class Clock:
    """The clock of the processes that start with `environment`."""

    def __init__(self, file: Path, preloaded: Path) -> None:
        self._file = file
        self._set(0)
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(preloaded),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            "FAKETIME_CACHE_DURATION": _CACHE_SECONDS,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    @contextmanager
    def jumped(self, seconds: int) -> Iterator[None]:
        """Let the clock show so many seconds more during the block."""
        self._set(seconds)
        try:
            yield
        finally:
            self._set(0)

    def _set(self, seconds: int) -> None:
        self._file.write_text(f"{seconds:+d}")


def _installed() -> Path | None:
    return next(iter(sorted(Path("/").glob(_LIBRARIES.lstrip("/")))), None)
