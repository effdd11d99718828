"""All commands."""

from pathlib import Path

import apiext.cli


def test_coroutines_are_interruptible() -> None:
    """Let SIGTERM cancel what a command runs: all commands run coroutines by `run_interruptible`, servers by their lifecycle."""
    folder = Path(apiext.cli.__file__).parent
    found = [path.name for path in sorted(folder.rglob("*.py")) if "asyncio.run(" in path.read_text()]

    assert found == ["interruptible.py"]
