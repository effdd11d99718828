"""Runs the reference's own integration suite against `apiext serve` of this checkout."""

from pathlib import Path

import pytest

from hack.lib.conformance import command, scoreboard, suite, suite_run

# The first run builds the suite, which takes minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_listed_tests_pass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Pass every test of passing.txt; print the tests that pass without being listed."""
    tests, listed = suite.provide().tests(), command.listed()

    results = command.run(tests, command.apiext(), jobs=suite_run.default_jobs(), keep=tmp_path, again=listed)

    broken, unlisted = command.compare(results, listed)
    with capsys.disabled():
        print(f"\n{scoreboard.render({'apiext': results})}\n{command.verdict(broken, unlisted)}")  # noqa: T201 -- its purpose
    assert not broken, scoreboard.failures([one for one in results if one.test.name in broken], ())


def test_listed_tests_exist() -> None:
    """List only tests that the suite has."""
    assert command.listed() - {test.name for test in suite.provide().tests()} == set()
