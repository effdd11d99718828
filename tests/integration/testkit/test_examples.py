"""Runs the tests of crds/testing, which the documents show."""

from pathlib import Path
from typing import Final

import pytest

from hack.lib import controllers
from tests.integration.testkit.conftest import ROOT, run_pytest
from tests.support.document_commands import commands, section

EXAMPLES: Final = ROOT / "crds" / "testing"
MAX_LINES: Final = 40


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("test_*.py")), ids=lambda path: path.name)
def test_documents_show_the_examples(example: Path) -> None:
    """Show each example as it is, in fewer than 40 lines."""
    text = example.read_text()

    assert f"```python\n{text}```\n" in (ROOT / "crds" / "README.md").read_text()
    assert len(text.splitlines()) < MAX_LINES


def test_kopf_operator(tmp_path: Path) -> None:
    """Pass in a checkout, and print what README.md shows."""
    (command,) = commands(section("README.md", "Does my operator work, without a cluster?"))
    words = command.arguments
    assert (words[:4], words[4:]) == (["pytest", "-c", "/dev/null", "--rootdir=."], ["-q", "crds/testing/test_route_operator.py"])

    output = _run(tmp_path, "test_route_operator.py")

    assert command.prints(output), output


def test_objects_without_a_server(tmp_path: Path) -> None:
    """Pass in a checkout."""
    _run(tmp_path, "test_fleet_objects.py", tests=3)


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first run compiles the manager
def test_manager_of_controller_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pass with the manager of hack/controllers."""
    monkeypatch.setenv("MANAGER", str(controllers.program("manager")))
    _run(tmp_path, "test_manager.py")


def _run(folder: Path, name: str, *, tests: int = 1) -> str:
    run = run_pytest(ROOT, folder / "inner", "-c", "/dev/null", f"--rootdir={ROOT}", str(EXAMPLES / name))

    assert run.counts == {"passed": tests}, run.output
    return run.output
