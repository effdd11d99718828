"""The messages of etcd's API."""

import subprocess
import sys

_SCRIPT = "import sys, apiext.storage.etcd.backend; print(*sorted({'aetcd', 'grpc'} & sys.modules.keys()))"


def test_nothing_but_the_messages_is_loaded() -> None:
    """What comes with aetcd beside its messages, grpc above all, costs a start nothing."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
