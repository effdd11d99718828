"""Tests of the house rules that no tool checks: sizes, names, charters, and which rooms may import a library."""

import ast
import functools
import gc
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
MAX_FILE: Final = 600
MAX_FUNCTION: Final = 50
SOURCES: Final = sorted(path for folder in ("apiext", "tests", "hack") for path in (ROOT / folder).rglob("*.py"))
PACKAGE: Final = sorted((ROOT / "apiext").rglob("*.py"))
TESTS: Final = [path for path in SOURCES if "tests" in path.relative_to(ROOT).parts and "hack" not in path.relative_to(ROOT).parts]
"""All tests but those of hack/, which has no interface but its commands."""
PATCHING: Final = frozenset({"getattr", "setattr", "delattr"})
PRIVATE: Final = re.compile(r"(?:^|[.,] ?|import )(_[a-zA-Z]\w*)")
"""A private name in a text: the name itself, after a dot as in the path of a module, or in the program of a process."""

# The modules that may import a library: path prefixes below apiext/, without the suffix.
HOMES: Final = {
    "aiohttp": (
        *("server", "api/filters", "api/serving", "api/endpoints", "api/discovery", "api/openapi"),
        *("base/webhook", "operator/conversionserver", "operator/probes"),
    ),
    "kopf": ("operator",),
    "aetcd": ("storage/etcd",),
    "kubernetes": ("tools/testkit",),
    "pytest": ("tools/testkit",),
    "cbor2": ("base/meta/encoding/cbor_codec",),
    "grpc": ("storage/value/kms",),
    "nacl": ("storage/value",),
    "cryptography": ("base/cert", "server/tls", "api/authentication", "storage/value"),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
# A docstring of an implementation points to the method of its protocol.
PROTOCOL_METHOD: Final = re.compile(r"(?:See|Implement) `?(\w+)\.(\w+)`?")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module", autouse=True)
def _no_collections() -> Iterator[None]:
    """Collect no garbage meanwhile: each collection would visit the trees of all files, which takes longer than to parse them."""
    gc.disable()
    yield
    _tree.cache_clear()
    _import_nodes.cache_clear()
    gc.enable()


@functools.cache
def _tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file, parsed once for all tests."""
    return ast.parse(path.read_text())


def _functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@functools.cache
def _import_nodes(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(node for node in ast.walk(_tree(path)) if isinstance(node, ast.Import | ast.ImportFrom))


def _imports(path: Path) -> Iterator[str]:
    for node in _import_nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif node.module and not node.level:
            yield node.module.partition(".")[0]


def test_files_are_short() -> None:
    """Limit source files to 600 lines."""
    sizes = {_name(path): len(path.read_text().splitlines()) for path in SOURCES}

    assert {name: size for name, size in sizes.items() if size > MAX_FILE} == {}


def test_functions_are_short() -> None:
    """Limit functions to 50 lines, docstring included."""
    too_long = [
        f"{_name(path)}:{node.lineno} {node.name}: {size} lines"
        for path in SOURCES
        for node in _functions(path)
        if (size := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION
    ]

    assert too_long == []


def test_every_room_has_a_charter_and_no_code() -> None:
    """Require a docstring and nothing else in the __init__ of every package; the root package has its version too."""
    wrong = []
    for path in PACKAGE:
        if path.name != "__init__.py":
            continue
        module = _tree(path)
        rest = module.body[1:]
        if path.parent.name == "apiext":
            rest = [node for node in rest if "__version__" not in ast.unparse(node)]
        if not ast.get_docstring(module) or rest:
            wrong.append(_name(path))

    assert wrong == []


def test_public_class_names_are_unique() -> None:
    """Require that each public class name of apiext belongs to one class."""
    places: dict[str, list[str]] = {}
    for path in PACKAGE:
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(_name(path))

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_floors_and_rooms_have_names_of_their_own() -> None:
    """Require that no package has the name of a floor, and no two rooms one name, but for folders of commands."""
    folders = [path.parent for path in PACKAGE if path.name == "__init__.py"]
    floors = {path.name for path in folders if path.parent == ROOT / "apiext"}
    rooms = Counter(path.name for path in folders if path.parent.parent == ROOT / "apiext" and path.parent.name != "cli")

    assert [_name(path) for path in folders if path.name in floors and path.parent != ROOT / "apiext"] == []
    assert [name for name, count in rooms.items() if count > 1] == []


@pytest.mark.parametrize("library", HOMES)
def test_a_library_stays_in_its_rooms(library: str) -> None:
    """Restrict imports of a library that shapes the code around it to the rooms that own it."""
    prefixes = tuple(f"apiext/{home}" for home in HOMES[library])
    strangers = [
        _name(path) for path in PACKAGE if library in _imports(path) and not any(_within(_name(path), prefix) for prefix in prefixes)
    ]

    assert strangers == []


def test_no_module_imports_private_names() -> None:
    """Import neither private modules nor private names of libraries: a new version may change them."""
    found = []
    for path in PACKAGE:
        for node in _import_nodes(path):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            names = [".".join(filter(None, (module, alias.name))) for alias in node.names]
            found += [f"{_name(path)}: {name}" for name in names if re.search(r"(?:^|\.)_(?!_)", name)]

    assert found == []


def test_tests_use_no_private_names() -> None:
    """Use a room by its interface: import no private name of apiext, and patch none. Ruff checks attributes (SLF001)."""
    private = set(_private_names())
    found = []
    for path in TESTS:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("apiext"):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.Call) and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) in PATCHING:
                names = [str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and (node.value.isupper() or "apiext." in node.value):
                names = PRIVATE.findall(node.value)
            else:
                continue
            found += [f"{_name(path)}:{node.lineno} {name}" for name in names if name in private]

    assert found == []


def _private_names() -> Iterator[str]:
    """Yield the private names of apiext: its functions, classes, variables and attributes."""
    for path in PACKAGE:
        for node in ast.walk(_tree(path)):
            if isinstance(node, Function | ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.id if isinstance(node, ast.Name) else node.attr
            else:
                continue
            if name.startswith("_") and not name.startswith("__"):
                yield name


def test_the_log_is_written_with_fields() -> None:
    """Restrict imports of the standard library's logging to the modules that write the log; all others use base/meta/log.py."""
    strangers = [_name(path) for path in PACKAGE if "logging" in _imports(path)]

    assert strangers == ["apiext/base/meta/log.py", "apiext/server/observability/log_output.py"]


def test_hack_does_not_import_tests() -> None:
    """Keep hack/lib independent of the tests: the commands of hack/ run without them."""
    strangers = [_name(path) for path in (ROOT / "hack").rglob("*.py") if "tests" in _imports(path)]

    assert strangers == []


def test_public_functions_say_what_they_raise() -> None:
    """Require that public functions with a raise statement name the errors: there, in their class, or in the protocol they implement."""
    promises = {f"{owner}.{function.name}": text for _, owner, function, text in _public_functions()}
    silent = []
    for path, owner, function, text in _public_functions():
        protocol = PROTOCOL_METHOD.search(text)
        promised = text + promises.get(f"{protocol[1]}.{protocol[2]}", "") if protocol else text
        if _raises(function) and "Raises" not in promised:
            silent.append(f"{_name(path)}:{function.lineno} {owner}.{function.name}")

    assert silent == []


def _public_functions() -> Iterator[tuple[Path, str, Function, str]]:
    """Yield path, class, function and the docstrings of both; commands and methods that inherit their docstring are left out."""
    for path in PACKAGE:
        module = _tree(path)
        owners: list[ast.Module | ast.ClassDef] = [module, *(node for node in module.body if isinstance(node, ast.ClassDef))]
        for owner in owners:
            name = owner.name if isinstance(owner, ast.ClassDef) else ""
            about = ast.get_docstring(owner) or "" if name else ""
            for node in owner.body:
                if not isinstance(node, Function) or name.startswith("_") or (node.name.startswith("_") and node.name != "__init__"):
                    continue
                inherited = name and node.name != "__init__" and not ast.get_docstring(node)
                if not inherited and "command" not in " ".join(map(ast.unparse, node.decorator_list)):
                    yield path, name, node, f"{about}\n{ast.get_docstring(node) or ''}"


def _raises(node: ast.AST) -> bool:
    """Return whether a function constructs and raises an exception outside a `try` that handles some."""
    caught = node.body if isinstance(node, ast.Try) and node.handlers else []
    for child in ast.iter_child_nodes(node):
        if child in caught:
            continue
        if isinstance(child, ast.Raise) and child.exc is not None and not isinstance(child.exc, ast.Name):
            return True
        if not isinstance(child, Function | ast.ClassDef | ast.Lambda) and _raises(child):
            return True
    return False


def _within(name: str, prefix: str) -> bool:
    return name.startswith((f"{prefix}/", f"{prefix}.py"))
