"""The messages of etcd's API."""

import subprocess
import sys

_SCRIPT = "import sys, apiext.storage.etcd.backend; print(*sorted({'aetcd', 'grpc'} & sys.modules.keys()))"


def test_loads_only_the_messages() -> None:
    """Import neither aetcd nor grpc with the etcd backend."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
