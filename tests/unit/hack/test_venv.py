"""hack/venv: when the environment is made anew."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def venv() -> ModuleType:
    """The module behind hack/venv."""
    spec = importlib.util.spec_from_file_location("hack_venv", ROOT / "hack" / "lib" / "venv.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def made(venv: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The environments that were made; making one only writes its Python."""
    calls: list[Path] = []

    def make(_root: Path, folder: Path, python: Path) -> None:
        calls.append(folder)
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()

    monkeypatch.setattr(venv, "_make", make)
    monkeypatch.delenv("APIEXT_VENV", raising=False)
    (tmp_path / venv.LOCK).write_text("one==1\n")
    return calls


def test_a_second_call_does_nothing(venv: ModuleType, made: list[Path], tmp_path: Path) -> None:
    """An environment that has the lock's state is used as it is."""
    python = venv.main(tmp_path)

    assert venv.main(tmp_path) == python == tmp_path / ".venv" / "bin" / "python"
    assert made == [tmp_path / ".venv"]


def test_a_changed_lock_updates(venv: ModuleType, made: list[Path], tmp_path: Path) -> None:
    """An environment with another lock is brought up to date."""
    venv.main(tmp_path)
    (tmp_path / venv.LOCK).write_text("one==2\n")
    venv.main(tmp_path)

    assert len(made) == 2


def test_the_folder_can_be_chosen(venv: ModuleType, made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """APIEXT_VENV says where the environment is."""
    monkeypatch.setenv("APIEXT_VENV", str(tmp_path / "elsewhere"))

    assert venv.main(tmp_path) == tmp_path / "elsewhere" / "bin" / "python"
    assert made == [tmp_path / "elsewhere"]


def test_the_lock_holds_no_address() -> None:
    """The lock has pins and hashes, and nothing that names a host or a folder."""
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()

    assert [line for line in lines if "://" in line or (line.lstrip().startswith("--") and "--hash=" not in line)] == []


def test_the_lock_pins_what_the_project_needs() -> None:
    """Every dependency of pyproject.toml is pinned in the lock."""
    import re
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(name for extra in project["optional-dependencies"].values() for name in extra)]
    pinned = set(re.findall(r"^(\S+)==", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE))
    names = {re.sub(r"[-_.]+", "-", re.split(r"[<>=!~]", line)[0]).lower() for line in wanted}

    assert names - pinned == set()
