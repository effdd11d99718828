"""Tests of the parser of the conformance suite's output."""

from pathlib import Path

from hack.lib.conformance import command, scoreboard
from hack.lib.conformance.suite import SuiteTest
from hack.lib.conformance.suite_run import Outcome, Result, read

MARK = "\x16"
TEST = SuiteTest("TestLimits", "limit_test.go", Path("integration.test"), Path())


def test_a_test_that_passes() -> None:
    """Count subtests separately from their test."""
    text = (
        f"{MARK}=== RUN   TestLimits\n{MARK}=== RUN   TestLimits/large\n"
        f"{MARK}--- PASS: TestLimits/large (0.10s)\n{MARK}--- PASS: TestLimits (0.10s)\n{MARK}PASS\n"
    )

    result = read(TEST, text, seconds=1.0)

    assert (result.outcome, result.subtests, result.reason) == (Outcome.PASSED, {"TestLimits/large": Outcome.PASSED}, "")


def test_a_test_that_fails() -> None:
    """Report the last message of the innermost failed test as the reason."""
    text = (
        f"{MARK}=== RUN   TestLimits\n    limit_test.go:1: starting\n{MARK}=== RUN   TestLimits/large\n"
        f"    limit_test.go:9: started\n    limit_test.go:10: expected x,\n        but got y\n"
        f"{MARK}--- FAIL: TestLimits/large (0.10s)\n{MARK}=== NAME  TestLimits\n{MARK}--- FAIL: TestLimits (0.10s)\n{MARK}FAIL\n"
    )

    result = read(TEST, text, seconds=1.0)

    assert result.outcome is Outcome.FAILED
    assert result.reason.split() == ["limit_test.go:10:", "expected", "x,", "but", "got", "y"]


def test_a_test_without_an_end() -> None:
    """Report a test and its subtest as failed if they began and never ended."""
    text = f"{MARK}=== RUN   TestLimits\n{MARK}=== RUN   TestLimits/large\npanic: test timed out after 150s\n"

    result = read(TEST, text, seconds=150.0)

    assert (result.outcome, result.subtests["TestLimits/large"]) == (Outcome.FAILED, Outcome.FAILED)
    assert result.reason == "did not end in 150 s"


def test_a_test_that_never_began() -> None:
    """Report a test as not run if the program ends before the test begins."""
    assert read(TEST, "no such file\n", seconds=0.1).outcome is Outcome.NOT_RUN


def test_compare() -> None:
    """Report listed tests that ran and did not pass, and passing tests that are not listed."""
    other = SuiteTest("TestYAML", "yaml_test.go", Path("integration.test"), Path())
    results = [Result(TEST, Outcome.FAILED, 1.0), Result(other, Outcome.PASSED, 1.0)]

    assert command.compare(results, frozenset({"TestLimits", "TestPatch"})) == (["TestLimits"], ["TestYAML"])


def test_scoreboard() -> None:
    """Render a column for each server, and mark failures that the reference shares."""
    failed = Result(TEST, Outcome.FAILED, 1.0, {"TestLimits/large": Outcome.FAILED, "TestLimits/small": Outcome.PASSED}, "expected x")

    table = scoreboard.render({"apiext": [failed], "reference": [failed]}).splitlines()
    lines = scoreboard.failures([failed], [failed]).splitlines()

    assert table[2].split() == ["limit_test.go", "0", "1", "0", "1/2", "0", "1", "0", "1/2"]
    assert lines == ["limit_test.go: TestLimits failed (so does the reference): expected x", "    TestLimits/large"]
