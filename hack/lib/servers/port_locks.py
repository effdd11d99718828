"""Reservations of ports among the processes of a user, as long as a process lives.

A server that is killed and started again must find its port: meanwhile no other process may take it for a server of its own.
"""

import fcntl
import os
import tempfile
import threading
from pathlib import Path

_lock = threading.Lock()
_reserved: set[int] = set()
_files: list[int] = []
"""The open file whose bytes stand for ports; closing any descriptor of it would end the process's locks."""


def reserve(port: int) -> bool:
    """Reserve a port for this process until it ends; report whether no other holds it, and it was not reserved before."""
    with _lock:
        if port in _reserved:
            return False
        if not _files:
            path = Path(tempfile.gettempdir()) / f"apiext-ports-{os.getuid()}"
            _files.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            fcntl.lockf(_files[0], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return False
        _reserved.add(port)
        return True
