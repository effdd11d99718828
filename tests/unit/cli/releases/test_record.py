"""`apiext record`."""

import json
import tarfile
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from apiext.cli.releases.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.releases.object_progress import shown_progress
from apiext.cli.releases.record import record
from tests.support.builders.crds import crd, widget


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(record, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a definition and two widgets."""
    path = tmp_path / "manifests"
    path.mkdir()
    (path / "all.yaml").write_text(yaml.dump_all([crd(), widget("a", token="x"), widget("b")]))
    return path


def test_records(folder: Path, tmp_path: Path) -> None:
    """Write an archive, and print how many objects it has."""
    done = _run(tmp_path / "a.tar.gz", "--from", folder)

    assert done.stdout.splitlines() == ["widgets.example.com: 2 objects", f"recorded in {tmp_path}/a.tar.gz"]
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        member = tar.extractfile("objects/widgets.example.com.jsonl")
        assert member is not None
        assert json.loads(member.readline())["object"]["spec"] == {"token": "redacted-1"}


@pytest.mark.parametrize(
    "arguments,problem",
    [
        (["--redact", "a", "--no-redact"], "either --redact or --no-redact"),
        (["--redact", "a["], "--redact: 'a[' is not a path"),
        (["--crd", "x"], "has no definition x"),
        (["--etcd-certfile", __file__], "--etcd-certfile and --etcd-keyfile need each other"),
        (["--etcd-cafile", "/nowhere"], "--etcd-cafile: /nowhere: No such file"),
        (["--etcd-prefix", "/"], "--etcd-prefix must not be empty"),
    ],
)
def test_refuses_flags(folder: Path, tmp_path: Path, arguments: list[str], problem: str) -> None:
    """Say which flag is wrong."""
    done = _run(tmp_path / "a.tar.gz", "--from", folder, *arguments)

    assert done.exit_code
    assert problem in done.stderr


def test_flags_of_access() -> None:
    """Return what the flags say, with the defaults of the others."""
    none = {str(option.name): None for option in ACCESS_FLAGS}
    access = access_of(none | {"context": "c", "etcd_prefix": "x/", "etcd_tools": "/bin"})

    assert (access.cluster.kubeconfig, access.cluster.context) == ("", "c")
    assert (access.etcd.prefix, access.etcd.tools, access.etcd.cafile) == ("/x", Path("/bin"), None)
    assert access_of(none).etcd.prefix == "/registry"


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Show a bar on a terminal, and nothing elsewhere."""
    with shown_progress() as progress:
        progress("widgets", 1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with shown_progress() as progress:
        progress("widgets", 1, None)
        progress("widgets", 3, 2)
