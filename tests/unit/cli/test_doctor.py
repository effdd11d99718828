"""`apiext doctor` on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from apiext.cli.doctor import doctor
from apiext.operator.checks import sequence
from apiext.operator.checks.sequence import Report
from apiext.operator.checks.verdict import CheckState, CheckVerdict, Finding, broken, ok
from tests.support.builders.kubeconfigs import write_kubeconfig

REPORT = Report(
    [Finding("host", ok("it answers"))],
    {
        "g": [
            Finding("Service", broken("it is\n  gone", "create it")),
            Finding("connection", CheckVerdict(CheckState.SKIPPED, "skipped after a failed check")),
        ]
    },
)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    """Write a kubeconfig of a host, and return its path."""
    return str(write_kubeconfig(tmp_path / "kubeconfig", "http://h"))


def _found(monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    async def examine(*_arguments: object) -> Report:
        return report

    monkeypatch.setattr(sequence, "examine", examine)


def _run(*arguments: str) -> object:
    return doctor.main(list(arguments), standalone_mode=False)


def test_prints_a_line_for_each_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kubeconfig: str) -> None:
    """Print a line for each check, the remedy below a broken one, and one line for those not run."""
    _found(monkeypatch, REPORT)

    assert _run("--kubeconfig", kubeconfig) == 1
    assert capsys.readouterr().out.splitlines() == [
        "host",
        "  ✓ host                it answers",
        "group g",
        "  ✗ Service             it is gone",
        "                        → create it",
        "  · not run             connection",
        "A check failed.",
    ]


def test_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kubeconfig: str) -> None:
    """Print the same report as JSON with `-o json`."""
    _found(monkeypatch, REPORT)

    assert _run("--kubeconfig", kubeconfig, "-o", "json") == 1
    told = json.loads(capsys.readouterr().out)

    assert (told["ok"], told["host"]["ok"], told["groups"][0]["broken"]) == (False, True, "Service")
    assert told["groups"][0]["hops"][0] == {"hop": "Service", "state": "broken", "what": "it is\n  gone", "remedy": "create it"}


def test_exits_with_zero_if_nothing_is_broken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kubeconfig: str) -> None:
    """Exit with 0 if nothing is broken."""
    _found(monkeypatch, Report(REPORT.host))

    assert _run("--kubeconfig", kubeconfig) == 0
    assert capsys.readouterr().out.endswith("All checks pass.\n")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--service", "name"], "--service: 'name' is not NAMESPACE/NAME"),
        (["--server", "http://x"], "--server: 'http://x' does not begin with https://"),
        (["--ca-file", "/no/such"], "--ca-file: /no/such: No such file or directory"),
        (["--crd-selector", "a=b=c"], "--crd-selector: "),
        (["--kubeconfig", "/no/such"], "--kubeconfig: /no/such: No such file or directory"),
    ],
)
def test_rejects_invalid_flags(kubeconfig: str, arguments: list[str], message: str) -> None:
    """Name an invalid flag before any request."""
    with pytest.raises(click.UsageError) as raised:
        _run("--kubeconfig", kubeconfig, *arguments)

    assert raised.value.format_message().startswith(message)


def test_defaults_to_the_kubeconfig_of_kubectl(monkeypatch: pytest.MonkeyPatch, kubeconfig: str) -> None:
    """Use the kubeconfig of kubectl without --kubeconfig."""
    _found(monkeypatch, Report(REPORT.host))
    monkeypatch.setenv("KUBECONFIG", f"{kubeconfig}:/another")

    assert _run() == 0


def test_imports_no_heavy_modules() -> None:
    """Import no module that only servers and operators need."""
    script = "import sys, apiext.operator.checks.sequence; print(*(set(sys.modules) & set(sys.argv[1:])))"
    heavy = ("kopf", "kubernetes", "grpc", "cryptography", "uvloop", "prometheus_client", "jsonschema")

    loaded = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []
