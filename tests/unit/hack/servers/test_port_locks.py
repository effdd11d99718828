"""Ports belong to one process."""

import subprocess
import sys

from hack.lib.servers import port_locks
from hack.lib.servers.process import free_port

_OTHER = "import sys; from hack.lib.servers import port_locks; sys.exit(port_locks.reserve(int(sys.argv[1])))"


def test_reserves_ports_until_the_process_ends() -> None:
    """Refuse a port that this or another process has reserved, and take one whose process has ended."""
    held = free_port()

    def other(port: int) -> int:
        return subprocess.run([sys.executable, "-c", _OTHER, str(port)], check=False).returncode

    ended = next(port for port in iter(lambda: free_port() + 1, None) if other(port))
    assert not port_locks.reserve(held)
    assert other(held) == 0
    assert port_locks.reserve(ended)
