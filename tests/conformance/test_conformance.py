"""The reference's own integration suite against the server that this checkout starts."""

from pathlib import Path

import pytest

from hack.lib.conformance import command, scoreboard, suite, suite_run

# Where the suite is not in the cache yet, building it takes its minutes too.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_listed_tests_pass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every test of passing.txt passes; those that pass without being listed are named."""
    tests, listed = suite.provide().tests(), command.listed()

    results = command.run(tests, command.apiext(), jobs=suite_run.default_jobs(), keep=tmp_path, again=listed)

    broken, unlisted = command.compare(results, listed)
    with capsys.disabled():
        print(f"\n{scoreboard.render({'apiext': results})}\n{command.verdict(broken, unlisted)}")  # noqa: T201 -- its purpose
    assert not broken, scoreboard.failures([one for one in results if one.test.name in broken], ())


def test_listed_tests_exist() -> None:
    """The list names no test that the suite does not have."""
    assert command.listed() - {test.name for test in suite.provide().tests()} == set()
