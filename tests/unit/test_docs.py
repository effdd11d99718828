"""The documents are complete and agree with the code."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from tomllib import loads
from typing import Final

import click
import pytest

from apiext.cli.main import apiext
from hack.lib import flag_tables

ROOT: Final = Path(__file__).resolve().parents[2]
FLOORS: Final = tuple(sorted(str(path.relative_to(ROOT)) for path in (ROOT / "apiext").glob("*/README.md")))
ARCHITECTURE: Final = ("apiext/README.md", *FLOORS, "apiext/base/scheduling/README.md")
DECISIONS: Final = tuple(sorted(str(path.relative_to(ROOT)) for path in (ROOT / "hack/decisions").glob("*.md")))
DOCUMENTS: Final = (
    *("README.md", "CONTRIBUTING.md", *ARCHITECTURE, "hack/README.md", *DECISIONS),
    *("crds/README.md", "crds/in-ci.md", "crds/stories/README.md"),
    *("manifests/README.md", "manifests/STABILITY.md", "manifests/DIFFERENCES.md"),
)
MAX_PAGE: Final = 3072  # bytes
MAX_README: Final = 8192  # bytes
MAX_ARCHITECTURE: Final = 15 * 1024  # bytes
MAX_FLOOR: Final = 200  # lines
_LINK: Final = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
_PATH: Final = re.compile(r"`((?:apiext|crds|hack|manifests|tests)/[\w./-]*\w/?)`")
_FLAG: Final = re.compile(r"`(--[a-z][a-z-]+)")
# A flag that a command of hack takes: an argument of argparse, a search in sys.argv, a branch or a comparison of a shell.
_DECLARED: Final = re.compile(
    rb"""(?:add_argument\(\s*"|^\s*|= )(--[a-z][a-z-]+)(?:",|\)| \])|"(--[a-z][a-z-]+)" in sys\.argv""", re.MULTILINE
)


def _text(name: str) -> str:
    return (ROOT / name).read_text()


def test_readme_is_short() -> None:
    """Keep README.md within 8 KB."""
    assert len(_text("README.md").encode()) <= MAX_README


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_and_paths_exist(name: str) -> None:
    """Link and name only files that exist."""
    text = _text(name)
    linked = [(ROOT / name).parent / target for target in _LINK.findall(text)]
    named = [ROOT / path for path in _PATH.findall(text)]

    assert [str(path) for path in [*linked, *named] if not path.exists()] == []


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_are_pages(name: str) -> None:
    """Keep each decision within a page, and list it in the index."""
    assert len(_text(name).encode()) <= MAX_PAGE
    assert Path(name).name == "README.md" or f"({Path(name).name})" in _text("hack/decisions/README.md")


@pytest.mark.parametrize("name", [*DOCUMENTS, "CHANGELOG.md"])
def test_no_placeholders(name: str) -> None:
    """Leave no placeholder to fill in."""
    assert re.findall(r"@[A-Z]+@", _text(name)) == []


def test_flag_tables_match_the_commands() -> None:
    """List each flag once with its help text; `hack/check --fix` rewrites the tables."""
    text = flag_tables.DOCUMENT.read_text()

    assert text.count("<!-- flags: ") == len(flag_tables.COMMANDS)
    assert flag_tables.with_tables(text) == text


def _commands(command: click.Command) -> Iterator[click.Command]:
    """Yield a command and those below it."""
    yield command
    for one in command.commands.values() if isinstance(command, click.Group) else ():
        yield from _commands(one)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_named_flags_exist(name: str) -> None:
    """Name only flags that a command has."""
    known = set(re.findall(r"--[a-z][a-z-]+", "".join(map(flag_tables.table, _commands(apiext)))))
    commands = [path for path in (ROOT / "hack").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    others = {flag.decode() for path in commands for found in _DECLARED.findall(path.read_bytes()) for flag in found}
    others |= {"--help", "--server-side", "--build-arg"}

    assert {flag for flag in _FLAG.findall(_text(name)) if flag not in known | others} == set()


def test_every_floor_has_a_page() -> None:
    """Give each floor a page of at most 200 lines, and the house one of at most 15 KB."""
    floors = {path.parent.name for path in (ROOT / "apiext").glob("*/__init__.py")}

    assert {Path(name).parent.name for name in FLOORS} == floors
    assert {name for name in FLOORS if len(_text(name).splitlines()) > MAX_FLOOR} == set()
    assert len(_text("apiext/README.md").encode()) <= MAX_ARCHITECTURE


@pytest.mark.parametrize("name", FLOORS)
def test_every_room_is_described(name: str) -> None:
    """Name every package of a floor on its page."""
    text, floor = _text(name), (ROOT / name).parent
    rooms = [path.parent.relative_to(ROOT / "apiext").as_posix() for path in floor.glob("*/**/__init__.py")]

    assert [room for room in rooms if f"`{room}/`" not in text] == []


def test_the_picture_shows_the_floors() -> None:
    """Draw the floors in the layers that lint-imports checks, and list their rooms."""
    text = _text("apiext/README.md")
    drawn = [set(found.split()) for found in re.findall(r"subgraph \w+ \[.*?\]\n(.*?)\n    end", text, re.DOTALL)]
    contracts = loads(_text("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "floors")
    rows = dict(re.findall(r"^\| \[`(\w+)`\].*\| (.*) \|$", text, re.MULTILINE))
    rooms = {floor: {path.parent.name for path in (ROOT / "apiext" / floor).glob("*/__init__.py")} for floor in rows}

    assert drawn == [set(layer.split(" | ")) for layer in layers if layer != "evaluation | testkit"]
    assert {floor: set(re.findall(r"`(\w+)`", row)) for floor, row in rows.items()} == rooms | {"cli": set()}


@pytest.mark.parametrize(
    "document,folder,pattern",
    [
        ("hack/README.md", "hack", "*"),
        ("crds/README.md", "crds/examples", "*.yaml"),
        ("manifests/README.md", "manifests/components", "*"),
    ],
)
def test_folder_is_described_completely(document: str, folder: str, pattern: str) -> None:
    """Describe every command, sample CRD and component."""
    text = _text(document)
    names = [path.name for path in (ROOT / folder).glob(pattern) if path.name not in {"README.md", "__pycache__"}]

    assert [name for name in names if not re.search(rf"`(?:{re.escape(folder)}/)?{re.escape(name)}[`/ ]", text)] == []


@pytest.mark.parametrize("name", ARCHITECTURE)
def test_architecture_names_existing_files(name: str) -> None:
    """Name only files and folders of the package that exist."""
    named = re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.py)?)`", _text(name))

    assert [path for path in named if not (ROOT / "apiext" / path).exists() and not (ROOT / path).exists()] == []
    alone = set(re.findall(r"`([a-z_0-9]+\.py)`", _text(name)))
    assert alone - {path.name for path in (ROOT / "apiext").rglob("*.py")} == set()


def test_limits_of_bounded_work_are_those_of_the_code() -> None:
    """State the values that constants have."""
    rows = re.findall(r"^\| (`\w+`.*) \| (.*) \| `(\S+)\.py` \|$", _text("apiext/base/scheduling/README.md"), re.MULTILINE)
    stated, actual = [], []
    for names, values, path in rows:
        module = importlib.import_module(f"apiext.{path.replace('/', '.')}")
        stated += [float(value) for value in re.findall(r"(?:^|, )([0-9.]+)", values)]
        actual += [getattr(module, name) for name in re.findall(r"`(\w+)`", names)]

    assert actual
    assert stated == actual
