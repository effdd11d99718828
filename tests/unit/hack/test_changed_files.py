"""What the latest commits changed."""

import os
import subprocess
from pathlib import Path

from hack.lib.changed_files import COMMITS, Latest, latest

_DAY = 86_400


def _commit(root: Path, path: str, seconds: int) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(path)
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    when = {"GIT_AUTHOR_DATE": f"{seconds} +0000", "GIT_COMMITTER_DATE": f"{seconds} +0000"}
    env = os.environ | who | when
    subprocess.run(["git", "-C", root, "add", "-A"], check=True, env=env)
    subprocess.run(["git", "-C", root, "commit", "-q", "-m", path], check=True, env=env)


def test_names_the_files_of_the_last_day(tmp_path: Path) -> None:
    """Name what the commits of the day before the last one changed, whenever that was."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for path, seconds in (("old/a", 19_000 * _DAY), ("new/b", 20_000 * _DAY - 100), ("c", 20_000 * _DAY)):
        _commit(tmp_path, path, seconds)

    assert latest(tmp_path) == Latest(20_000, ("c", "new/b"))


def test_forgets_all_but_the_latest_commits(tmp_path: Path) -> None:
    """Name what the latest commits of a day with many changed."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for number in range(COMMITS + 1):
        _commit(tmp_path, str(number), 20_000 * _DAY)

    found = latest(tmp_path)
    assert found
    assert set(found.paths) == {str(number) for number in range(1, COMMITS + 1)}


def test_says_when_it_cannot_tell(tmp_path: Path) -> None:
    """Return None outside a checkout."""
    assert latest(tmp_path) is None


def test_finds_changes_below_places() -> None:
    """Find changed files by name and by folder, not by a part of a name."""
    found = Latest(1, ("a/b/c.py", "d.py"))

    assert found.below("a/b")
    assert found.below("x", "d.py")
    assert not found.below("a/b/c", "d", "b")
