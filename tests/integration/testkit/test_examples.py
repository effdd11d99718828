"""Runs the tests of crds/testing, which the documents show."""

from pathlib import Path
from typing import Final

import pytest

from tests.integration.testkit.conftest import ROOT, run_pytest

MAX_LINES: Final = 40


@pytest.mark.parametrize("name", ["test_route_operator.py"])
def test_example(tmp_path: Path, name: str) -> None:
    """Pass in a checkout, as the documents say."""
    example = Path("crds/testing", name)
    run = run_pytest(ROOT, tmp_path / "inner", "-c", "/dev/null", f"--rootdir={ROOT}", str(example))

    assert run.counts == {"passed": 1}, run.output
    assert len((ROOT / example).read_text().splitlines()) < MAX_LINES
