"""What the tests of the reference's suite print is read right."""

from pathlib import Path

from hack.lib.conformance import command, scoreboard
from hack.lib.conformance.suite import SuiteTest
from hack.lib.conformance.suite_run import Outcome, Result, read

MARK = "\x16"
TEST = SuiteTest("TestLimits", "limit_test.go", Path("integration.test"), Path())


def test_a_test_that_passes() -> None:
    """Subtests are counted apart from their test."""
    text = (
        f"{MARK}=== RUN   TestLimits\n{MARK}=== RUN   TestLimits/large\n"
        f"{MARK}--- PASS: TestLimits/large (0.10s)\n{MARK}--- PASS: TestLimits (0.10s)\n{MARK}PASS\n"
    )

    result = read(TEST, text, seconds=1.0)

    assert (result.outcome, result.subtests, result.reason) == (Outcome.PASSED, {"TestLimits/large": Outcome.PASSED}, "")


def test_a_test_that_fails() -> None:
    """The reason is what the innermost failed test wrote last."""
    text = (
        f"{MARK}=== RUN   TestLimits\n    limit_test.go:1: starting\n{MARK}=== RUN   TestLimits/large\n"
        f"    limit_test.go:9: started\n    limit_test.go:10: expected x,\n        but got y\n"
        f"{MARK}--- FAIL: TestLimits/large (0.10s)\n{MARK}=== NAME  TestLimits\n{MARK}--- FAIL: TestLimits (0.10s)\n{MARK}FAIL\n"
    )

    result = read(TEST, text, seconds=1.0)

    assert result.outcome is Outcome.FAILED
    assert result.reason.split() == ["limit_test.go:10:", "expected", "x,", "but", "got", "y"]


def test_a_test_that_is_cut_short() -> None:
    """A test that began and never ended has failed, and so has its subtest."""
    text = f"{MARK}=== RUN   TestLimits\n{MARK}=== RUN   TestLimits/large\npanic: test timed out after 150s\n"

    result = read(TEST, text, seconds=150.0)

    assert (result.outcome, result.subtests["TestLimits/large"]) == (Outcome.FAILED, Outcome.FAILED)
    assert result.reason == "did not end in 150 s"


def test_a_test_that_never_began() -> None:
    """A program that ends before its test begins has not run it."""
    assert read(TEST, "no such file\n", seconds=0.1).outcome is Outcome.NOT_RUN


def test_compare() -> None:
    """Listed tests that ran and did not pass are broken, and passing ones that are not listed are named."""
    other = SuiteTest("TestYAML", "yaml_test.go", Path("integration.test"), Path())
    results = [Result(TEST, Outcome.FAILED, 1.0), Result(other, Outcome.PASSED, 1.0)]

    assert command.compare(results, frozenset({"TestLimits", "TestPatch"})) == (["TestLimits"], ["TestYAML"])


def test_scoreboard() -> None:
    """Each server has a column, and a failure says where the reference fails too."""
    failed = Result(TEST, Outcome.FAILED, 1.0, {"TestLimits/large": Outcome.FAILED, "TestLimits/small": Outcome.PASSED}, "expected x")

    table = scoreboard.render({"apiext": [failed], "reference": [failed]}).splitlines()
    lines = scoreboard.failures([failed], [failed]).splitlines()

    assert table[2].split() == ["limit_test.go", "0", "1", "0", "1/2", "0", "1", "0", "1/2"]
    assert lines == ["limit_test.go: TestLimits failed (so does the reference): expected x", "    TestLimits/large"]
