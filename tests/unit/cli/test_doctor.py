"""`apiext doctor` on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from apiext.cli import doctor as command
from apiext.cli.doctor import doctor
from apiext.operator.checks.report import Report
from apiext.operator.checks.verdict import Finding, State, Verdict, broken, ok

KUBECONFIG = "{clusters: [{name: c, cluster: {server: 'http://h'}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}"
REPORT = Report(
    [Finding("host", ok("it answers"))],
    {"g": [Finding("Service", broken("it is\n  gone", "create it")), Finding("connection", Verdict(State.UNSEEN, "not looked at"))]},
)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    """A file that names a host."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return str(path)


def _found(monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    async def examine(*_arguments: object) -> Report:
        return report

    monkeypatch.setattr(command, "_examine", examine)


def _run(*arguments: str) -> object:
    return doctor.main(list(arguments), standalone_mode=False)


def test_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kubeconfig: str) -> None:
    """A hop is a line; the broken one has a second line with what to do, and what was not looked at is one more."""
    _found(monkeypatch, REPORT)

    assert _run("--kubeconfig", kubeconfig) == 1
    assert capsys.readouterr().out.splitlines() == [
        "host",
        "  ✓ host                it answers",
        "group g",
        "  ✗ Service             it is gone",
        "                        → create it",
        "  · not looked at       connection",
        "A hop is broken.",
    ]


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kubeconfig: str) -> None:
    """`-o json` says the same to programs."""
    _found(monkeypatch, REPORT)

    assert _run("--kubeconfig", kubeconfig, "-o", "json") == 1
    told = json.loads(capsys.readouterr().out)

    assert (told["ok"], told["host"]["ok"], told["groups"][0]["broken"]) == (False, True, "Service")
    assert told["groups"][0]["hops"][0] == {"hop": "Service", "state": "broken", "what": "it is\n  gone", "remedy": "create it"}


def test_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kubeconfig: str) -> None:
    """Where nothing is broken the exit code is 0."""
    _found(monkeypatch, Report(REPORT.host))

    assert _run("--kubeconfig", kubeconfig) == 0
    assert capsys.readouterr().out.endswith("All hops are fine.\n")


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
def test_mistakes(kubeconfig: str, arguments: list[str], message: str) -> None:
    """What cannot be used is told by the flag's name, before anybody is asked."""
    with pytest.raises(click.UsageError) as raised:
        _run("--kubeconfig", kubeconfig, *arguments)

    assert raised.value.format_message().startswith(message)


def test_as_kubectl(monkeypatch: pytest.MonkeyPatch, kubeconfig: str) -> None:
    """Without --kubeconfig the file is the one that kubectl takes."""
    _found(monkeypatch, Report(REPORT.host))
    monkeypatch.setenv("KUBECONFIG", f"{kubeconfig}:/another")

    assert _run() == 0


def test_light_doctor() -> None:
    """It loads nothing that only servers and operators need."""
    script = "import sys, apiext.operator.checks.report; print(*(set(sys.modules) & set(sys.argv[1:])))"
    heavy = ("kopf", "kubernetes", "grpc", "cryptography", "uvloop", "prometheus_client", "jsonschema")

    loaded = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []
