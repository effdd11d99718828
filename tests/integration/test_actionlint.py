"""The workflows of GitHub, checked by actionlint."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

from hack.lib.reference.actionlint import actionlint
from tests.support.document_commands import blocks, section

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # the first run builds it
ROOT: Final = Path(__file__).resolve().parents[2]


def _problems(*arguments: str | Path) -> str:
    done = subprocess.run([actionlint(), "-no-color", "-oneline", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def test_finds_nothing_in_the_workflows() -> None:
    """Accept all workflows of the repository, with their expressions and scripts."""
    assert _problems(*sorted((ROOT / ".github" / "workflows").glob("*.yml"))) == ""


def test_finds_nothing_in_the_documented_workflow(tmp_path: Path) -> None:
    """Accept the workflow that the documents show."""
    (text,) = blocks(section("crds/in-ci.md", "GitHub Actions"), "yaml")
    (tmp_path / "crds.yml").write_text(text)

    assert _problems(tmp_path / "crds.yml") == ""


def test_finds_a_mistake(tmp_path: Path) -> None:
    """Refuse an expression that does not exist."""
    (tmp_path / "bad.yml").write_text(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.nothing }}\n"
    )

    assert 'property "nothing" is not defined' in _problems(tmp_path / "bad.yml")
