"""Tests of hack/venv: when the environment is created or updated, and with which lock."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
LOCKS = ("manifests/requirements.lock", "requirements-dev.lock")


@pytest.fixture
def venv() -> ModuleType:
    """Load the module behind hack/venv."""
    spec = importlib.util.spec_from_file_location("hack_venv", ROOT / "hack" / "lib" / "venv.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def made(venv: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str]]:
    """Record the environments that are made, with their locks; making one only writes its Python."""
    calls: list[tuple[Path, str]] = []

    def make(_root: Path, folder: Path, python: Path, lock: str) -> None:
        calls.append((folder, lock))
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()

    monkeypatch.setattr(venv, "_make", make)
    monkeypatch.delenv("APIEXT_VENV", raising=False)
    (tmp_path / "manifests").mkdir()
    (tmp_path / venv.LOCK).write_text("one==1\ntwo==1\n")
    (tmp_path / venv.RUNTIME_LOCK).write_text("one==1\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nscripts = {a = "b:c"}\n')
    return calls


def test_keeps_an_environment_of_the_same_lock(venv: ModuleType, made: list[tuple[Path, str]], tmp_path: Path) -> None:
    """Install nothing where the environment has the state of the lock."""
    python = venv.main(tmp_path)

    assert venv.main(tmp_path) == python == tmp_path / ".venv" / "bin" / "python"
    assert made == [(tmp_path / ".venv", venv.LOCK)]


def test_updates_after_a_change_of_the_lock(venv: ModuleType, made: list[tuple[Path, str]], tmp_path: Path) -> None:
    """Update an environment that was made from another lock."""
    venv.main(tmp_path)
    (tmp_path / venv.LOCK).write_text("one==2\n")
    venv.main(tmp_path)

    assert len(made) == 2


def test_updates_after_a_change_of_the_commands(venv: ModuleType, made: list[tuple[Path, str]], tmp_path: Path) -> None:
    """Update an environment that has other commands or plug-ins of the checkout; other changes of pyproject.toml do not matter."""
    venv.main(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nscripts = {a = "b:c"}\n')
    venv.main(tmp_path)
    assert len(made) == 1

    (tmp_path / "pyproject.toml").write_text('[project]\nscripts = {a = "b:c"}\nentry-points = {pytest11 = {a = "b.d"}}\n')
    venv.main(tmp_path)
    assert len(made) == 2


def test_uses_the_folder_of_the_variable(
    venv: ModuleType, made: list[tuple[Path, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Create the environment in APIEXT_VENV."""
    monkeypatch.setenv("APIEXT_VENV", str(tmp_path / "elsewhere"))

    assert venv.main(tmp_path) == tmp_path / "elsewhere" / "bin" / "python"
    assert made == [(tmp_path / "elsewhere", venv.LOCK)]


def test_development_adds_to_the_runtime(venv: ModuleType, made: list[tuple[Path, str]], tmp_path: Path) -> None:
    """Install the runtime lock first where only that is asked for, and the development lock into the same environment later."""
    venv.main(tmp_path, runtime=True)
    venv.main(tmp_path, runtime=True)
    venv.main(tmp_path)
    venv.main(tmp_path, runtime=True)

    assert made == [(tmp_path / ".venv", venv.RUNTIME_LOCK), (tmp_path / ".venv", venv.LOCK)]


_PIP = "print('Collecting a==1 (from x)\\nCollecting b==2\\nInstalling collected packages: a, b')"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_shows_progress(
    venv: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_terminal: bool
) -> None:
    """Show on a terminal which of how many packages pip gets, in one line; elsewhere print whole lines only."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)

    venv._run([sys.executable, "-c", _PIP], packages=2)

    passing = "\r\033[Khack/venv: package 1 of 2: a==1\r\033[Khack/venv: package 2 of 2: b==2\r\033[K"
    assert capsys.readouterr() == ("", f"{passing if is_terminal else ''}hack/venv: unpacking 2 packages\n")


def test_says_why_pip_failed(venv: ModuleType) -> None:
    """Raise an error with the last lines of pip."""
    with pytest.raises(venv.VenvError, match="failed: ERROR: no such package"):
        venv._run([sys.executable, "-c", "import sys; sys.exit('ERROR: no such package')"], packages=2)


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_contain_no_address(lock: str) -> None:
    """Keep addresses of hosts and folders out of the locks: they have pins and hashes only."""
    lines = (ROOT / lock).read_text().splitlines()

    assert [line for line in lines if "://" in line or (line.lstrip().startswith("--") and "--hash=" not in line)] == []


def test_pins_every_dependency() -> None:
    """Pin every dependency of pyproject.toml: those of run time in the runtime lock, all in the development lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]

    assert _names(project["dependencies"]) - _pinned("manifests/requirements.lock") == set()
    assert _names([*project["dependencies"], *extras]) - _pinned("requirements-dev.lock") == set()


def test_pins_the_same_versions() -> None:
    """Pin in the runtime lock no version that the development lock does not pin."""
    pins = [set(re.findall(r"^\S+==\S+", (ROOT / lock).read_text(), re.MULTILINE)) for lock in LOCKS]

    assert pins[0] - pins[1] == set()


def _names(requirements: list[str]) -> set[str]:
    return {re.sub(r"[-_.]+", "-", re.split(r"[<>=!~]", line)[0]).lower() for line in requirements}


def _pinned(lock: str) -> set[str]:
    return set(re.findall(r"^(\S+)==", (ROOT / lock).read_text(), re.MULTILINE))
