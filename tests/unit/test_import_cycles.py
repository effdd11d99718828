"""No two modules of apiext import each other, directly or through others; imports for types count too."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]

Imports = Mapping[str, frozenset[str]]
"""The modules that each module imports."""


def _imports(package: Path) -> Imports:
    """Return the imports of all modules of a package among each other."""
    paths = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in package.rglob("*.py")
    }
    return {name: frozenset(_imported(path, paths.keys() - {name})) for name, path in paths.items()}


def _imported(path: Path, known: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                # a name of a package is a module of it or, where there is none, the package's own
                full = f"{node.module}.{alias.name}"
                yield from {full if full in known else node.module} & known


def _cycles(imports: Imports) -> set[tuple[str, ...]]:
    """Return the groups of modules each of which imports all others of its group, directly or through them (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: set[tuple[str, ...]] = set()

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        path.append(module)
        for target in imports[module]:
            if target not in number:
                visit(target)
            if target in path:
                lowest[module] = min(lowest[module], lowest[target])
        if lowest[module] == number[module]:
            place = path.index(module)
            if len(path) - place > 1:
                found.add(tuple(sorted(path[place:])))
            del path[place:]

    for module in imports:
        if module not in number:
            visit(module)
    return found


def test_no_cycles() -> None:
    """Find no cycle in the package."""
    assert _cycles(_imports(ROOT / "apiext")) == set()


def test_finds_cycles(tmp_path: Path) -> None:
    """Find cycles through imports of modules and of names, for types and in functions; a chain is none."""
    package = tmp_path / "p"
    package.mkdir()
    for name, text in {
        "__init__": '"""Charter."""',
        "a": "from p import b",
        "b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.c import Name",
        "c": "def late():\n    import p.a",
        "d": "from p.a import name\nfrom p import e",
        "e": "from p.b import name",
        "f": "from p import g",
        "g": "import p.f",
    }.items():
        (package / f"{name}.py").write_text(text)

    assert _cycles(_imports(package)) == {("p.a", "p.b", "p.c"), ("p.f", "p.g")}
