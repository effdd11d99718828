"""The server that a tool starts for itself: `apiext serve` on a free port of loopback, with all its files in a folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

READY: Final = b"apiext is ready"
"""The first line of its output begins so, once it serves."""
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0
_FLAGS: Final = ("--bind-address=127.0.0.1", "--secure-port=0", "--exit-with-parent", "--garbage-collection=false")
"""No garbage is collected, as in envtest: recorded and made objects may name owners that do not exist here."""


def serve_command(folder: Path, flags: Sequence[str] = ()) -> list[str]:
    """Return the command that serves with the files in a folder. Later flags replace earlier ones."""
    return [sys.executable, "-m", "apiext", "serve", f"--data-dir={folder}", *_FLAGS, *flags]


def kubeconfig_path(folder: Path) -> Path:
    """Return the kubeconfig of the server's administrator."""
    return folder / "pki" / "apiext.kubeconfig"


def log_path(folder: Path) -> Path:
    """Return the file for the server's log."""
    return folder / "server.log"


def last_line(log: Path) -> str:
    """Return the last line of a log, which says why a server did not start."""
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "no reason is known"
