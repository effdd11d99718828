"""The command line."""

import subprocess
import sys

import click
import pytest

from apiext import __version__
from apiext.cli.flags import SECTIONS
from apiext.cli.main import main
from apiext.cli.sections import SectionedCommand
from apiext.cli.serve import serve, startup_message

HEAVY = [
    *("aiohttp", "cryptography", "grpc", "kubernetes", "kopf", "jsonschema", "structlog", "rich", "yaml"),
    *("prometheus_client", "re2", "cbor2"),
]


def _run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["apiext", *arguments])
    with pytest.raises(SystemExit) as raised:
        main()
    assert isinstance(raised.value.code, int)
    return raised.value.code


@pytest.mark.parametrize("word", ["version", "--version"])
def test_prints_the_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str) -> None:
    """Print apiext's version and the Kubernetes version that it implements."""
    assert _run(monkeypatch, word) == 0

    assert capsys.readouterr().out == f"apiext {__version__} (serves Kubernetes v1.37.1)\n"


@pytest.mark.parametrize(
    "arguments, code, line",
    [
        (["serve", "--no-such-flag"], 2, "apiext: No such option '--no-such-flag'."),
        (["serve", "--secure-port", "x"], 1, "apiext: --secure-port: 'x' is not a whole number"),
        (["serve", "--feature-gates=Nope"], 1, "apiext: missing bool value for Nope"),
        (["serve", "--etcd-prefix"], 2, "apiext: Option '--etcd-prefix' requires an argument."),
        (["serve", "/no/folder"], 1, "apiext: --crd-dir: /no/folder: No such file or directory"),
        (["serve", "/no/folder", "--crd-dir=/other"], 2, "apiext: FOLDER and --crd-dir name the same: give one of them"),
        (["serve", "folder", "extra"], 2, "apiext: Got unexpected extra argument (extra)"),
        (["nope"], 2, "apiext: No such command 'nope'."),
    ],
)
def test_reports_mistakes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, line: str
) -> None:
    """Print one line on standard error for a mistake, and exit with the reference's code for values, 2 for unknown words."""
    assert _run(monkeypatch, *arguments) == code

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(line)
    assert captured.err.count("\n") == 1


def test_prints_a_line_for_each_mistake(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Print two lines for two invalid flags."""
    _run(monkeypatch, "serve", "--secure-port=x", "--watch-cache=y")

    assert capsys.readouterr().err.count("apiext: --") == 2


def test_parses_boolean_flags_as_go() -> None:
    """Parse a boolean flag alone or with `=value`, and never take the next argument as its value."""
    seen: dict[str, object] = {}

    @click.command(cls=SectionedCommand, sections=SECTIONS, params=[click.Argument(["folder"])])
    def command(**flags: object) -> None:
        seen.update({name: value for name, value in flags.items() if value})

    arguments = ["--authentication-skip-lookup", "--kubeconfig", "k", "--watch-cache=false", "--anonymous-auth", "crds", "-v=2"]
    command.main(arguments, standalone_mode=False)

    expected = {"authentication_skip_lookup": "true", "kubeconfig": "k", "watch_cache": "false", "anonymous_auth": "true", "v": "=2"}
    assert seen == expected | {"folder": "crds"}


def test_documents_every_flag() -> None:
    """Give each flag a metavar and a help text that ends with a full stop."""
    options = [option for option in serve.params if isinstance(option, click.Option) and option.name != "help"]

    assert len(options) > 40
    assert [option.name for option in options if not (option.help and option.help.endswith(".") and option.metavar)] == []


@pytest.mark.parametrize(
    "modules, heavy",
    [("apiext.cli.main", HEAVY), ("apiext.server.lifecycle, apiext.storage.sqlite.backend", HEAVY[1:])],
    ids=["command line", "server"],
)
def test_imports_no_heavy_modules(modules: str, heavy: list[str]) -> None:
    """Import no module that only other commands, only some servers, or only later requests need."""
    script = f"import sys, {modules}; print(*(set(sys.modules) & set(sys.argv[1:])))"

    loaded = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []


def test_prints_the_startup_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the address, what is served, and the next command to type."""
    monkeypatch.setenv("HOME", "/home/ann")

    text = startup_message({"address": "https://a:1", "kubeconfig": "/home/ann/k"}, 0.3)

    assert text.splitlines() == [
        "apiext is ready (0.30 s). Ctrl-C stops it.",
        "  address     https://a:1",
        "  kubeconfig  ~/k",
        "  next        export KUBECONFIG=~/k; kubectl api-resources",
    ]


@pytest.mark.parametrize("path, shown", [("/home/ann/a b", "/home/ann/a b"), ("/other/k", "/other/k"), ("/home/ann/k", "~/k")])
def test_shortens_paths_for_the_shell(monkeypatch: pytest.MonkeyPatch, path: str, shown: str) -> None:
    """Print the home directory as `~` only where a shell expands it."""
    monkeypatch.setenv("HOME", "/home/ann")

    assert f"  kubeconfig  {shown}" in startup_message({"kubeconfig": path}, 0.3).splitlines()
