"""The reference's own integration suite against the server that this checkout starts."""

from pathlib import Path

import pytest

from tests.support import conformance, scoreboard, suite, suite_run

# Where the suite is not in the cache yet, building it takes its minutes too.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_listed_tests_pass(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every test of passing.txt passes; those that pass without being listed are named."""
    tests, listed = suite.provide().tests(), conformance.listed()

    results = conformance.run(tests, conformance.apiext(), jobs=suite_run.default_jobs(), keep=tmp_path, again=listed)

    broken, unlisted = conformance.compare(results, listed)
    with capsys.disabled():
        print(f"\n{scoreboard.render({'apiext': results})}\n{conformance.verdict(broken, unlisted)}")  # noqa: T201 -- its purpose
    assert not broken, scoreboard.failures([one for one in results if one.test.name in broken], ())


def test_listed_tests_exist() -> None:
    """The list names no test that the suite does not have."""
    assert conformance.listed() - {test.name for test in suite.provide().tests()} == set()
