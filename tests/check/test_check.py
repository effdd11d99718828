"""Runs hack/check."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

_CHECK: Final = Path(__file__).resolve().parents[2] / "hack" / "check"


@pytest.mark.timeout(900)
def test_passes() -> None:
    """Find nothing in the whole repository."""
    done = subprocess.run([_CHECK], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    assert done.returncode == 0, done.stdout
