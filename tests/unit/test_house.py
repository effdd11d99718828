"""The house rules that no tool checks: sizes, charters, and where a library may be used."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
MAX_FILE: Final = 400
MAX_FUNCTION: Final = 50
SOURCES: Final = sorted(path for folder in ("apiext", "tests", "hack") for path in (ROOT / folder).rglob("*.py"))
PACKAGE: Final = sorted((ROOT / "apiext").rglob("*.py"))

# Where a library may be imported: path prefixes below apiext/, without the ending.
HOMES: Final = {
    "aiohttp": ("server", "filters", "serving", "endpoints", "discovery", "openapi", "webhook"),
    "kopf": ("operator",),
    "grpc": ("storage/etcd", "storage/value"),
    "aetcd": ("storage/etcd", "storage/value"),
    "cryptography": ("storage/value", "cert", "server/tls", "authentication"),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_files_are_short() -> None:
    """No source file has more than 400 lines."""
    sizes = {_name(path): len(path.read_text().splitlines()) for path in SOURCES}

    assert {name: size for name, size in sizes.items() if size > MAX_FILE} == {}


def test_functions_are_short() -> None:
    """No function has more than 50 lines, its docstring included."""
    too_long = [
        f"{_name(path)}:{node.lineno} {node.name}: {size} lines"
        for path in SOURCES
        for node in _functions(path)
        if (size := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION
    ]

    assert too_long == []


def test_every_room_has_a_charter_and_no_code() -> None:
    """The __init__ of every package is a docstring and nothing else; the root package has its version too."""
    wrong = []
    for path in PACKAGE:
        if path.name != "__init__.py":
            continue
        module = ast.parse(path.read_text())
        rest = module.body[1:]
        if path.parent.name == "apiext":
            rest = [node for node in rest if "__version__" not in ast.unparse(node)]
        if not ast.get_docstring(module) or rest:
            wrong.append(_name(path))

    assert wrong == []


@pytest.mark.parametrize("library", HOMES)
def test_a_library_stays_in_its_rooms(library: str) -> None:
    """A library that shapes the code around it is imported only in the rooms that own it."""
    prefixes = tuple(f"apiext/{home}" for home in HOMES[library])
    strangers = [
        _name(path) for path in PACKAGE if library in _imports(path) and not any(_within(_name(path), prefix) for prefix in prefixes)
    ]

    assert strangers == []


def test_the_log_is_written_with_fields() -> None:
    """The standard library's logging is imported where the log is made; all others log by meta/log.py."""
    strangers = [_name(path) for path in PACKAGE if "logging" in _imports(path)]

    assert strangers == ["apiext/meta/log.py", "apiext/server/log_output.py"]


def _within(name: str, prefix: str) -> bool:
    return name.startswith((f"{prefix}/", f"{prefix}.py"))
