"""The files that the latest commits changed, to choose tests that are about them."""

import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_SECONDS: Final = 86_400
COMMITS: Final = 25
"""Maximum of commits: CI runs many times on a day with more."""


class Latest(NamedTuple):
    """What the commits of the day before the last one changed, at most `COMMITS` of them."""

    day: int
    """The day of the last commit, counted from 1970."""
    paths: tuple[str, ...]
    """Files, relative to the root of the checkout. In a clone without history, all files."""

    def below(self, *places: str) -> bool:
        """Return whether a file changed that is one of these places, or in a folder that is one."""
        return any(path == place or path.startswith(f"{place}/") for path in self.paths for place in places)


def latest(root: Path) -> Latest | None:
    """Return what the latest commits changed, or None if git cannot tell."""
    last = _git(root, "log", "-1", "--format=%ct")
    if not last.isdigit():
        return None
    begin = int(last) - _SECONDS
    paths = _git(root, "log", f"--since={begin}", f"--max-count={COMMITS}", "--name-only", "--format=")
    return Latest(int(last) // _SECONDS, tuple(sorted({line for line in paths.splitlines() if line})))


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints, without its last line break; nothing if it fails or is missing."""
    try:
        done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
