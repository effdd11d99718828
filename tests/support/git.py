"""git in folders of tests."""

import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, with an author and without the user's signing keys."""
    given = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *given, *arguments], cwd=folder, check=True, capture_output=True)
