"""Writes layered objects as templates of Helm."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from hack.lib.chart.layers import Branch, Fields, Items, Scalar
from hack.lib.chart.settings import Path, Settings, with_values


@dataclass(frozen=True, slots=True)
class Renderer:
    """Writes one object."""

    settings: Settings
    release: str

    def fields(self, node: Fields, indent: int, path: Path) -> Iterator[str]:
        """Yield the lines of a mapping."""
        for name, (condition, branches) in node.fields.items():
            yield from _conditional(condition, list(self._field(name, branches, indent, (*path, name))))
        for name, value in self.settings.added.get(path, {}).items():
            yield from self._set(name, value, indent)
        yield from self._joined(indent, path)

    def _field(self, name: str, branches: list[Branch], indent: int, path: Path) -> Iterator[str]:
        own = list(self._branches(name, branches, indent, path))
        if path in self.settings.replaced:
            yield from self._set(name, self.settings.replaced[path], indent, own)
        else:
            yield from own

    def _branches(self, name: str, branches: list[Branch], indent: int, path: Path) -> Iterator[str]:
        if len(branches) == 1:
            yield from self._named(name, branches[0], indent, path)
            return
        for number, branch in enumerate(branches):
            last = number == len(branches) - 1
            yield "{{- else }}" if last else f"{{{{- {'else if' if number else 'if'} {branch.condition} }}}}"
            yield from self._named(name, branch, indent, path)
        yield "{{- end }}"

    def _named(self, name: str, branch: Branch, indent: int, path: Path) -> Iterator[str]:
        yield from self._after(f"{' ' * indent}{_key(name)}:", branch.node, indent, path)

    def _after(self, key: str, node: Fields | Items | Scalar, indent: int, path: Path) -> Iterator[str]:
        """Yield the lines of a node after its key, or after the dash of an item."""
        if isinstance(node, Scalar):
            yield from self._scalar(key, node.value, indent)
        elif isinstance(node, Fields):
            yield from [key, *self.fields(node, indent + 2, path)] if node.fields else [f"{key} {{}}"]
        else:
            yield from [key, *self._items(node, indent + 2, path)] if node.items else [f"{key} []"]

    def _items(self, node: Items, indent: int, path: Path) -> Iterator[str]:
        for branch in node.items:
            yield from _conditional(branch.condition, list(self._item(branch.node, indent, path)))
        yield from self._joined(indent, path)

    def _item(self, node: Fields | Items | Scalar, indent: int, path: Path) -> Iterator[str]:
        dash = f"{' ' * indent}-"
        if not isinstance(node, Fields) or not node.fields:
            yield from self._after(dash, node, indent, path)
            return
        lines = list(self.fields(node, indent + 2, (*path, _name(node))))
        if lines and not lines[0].startswith("{{-"):
            yield f"{dash} {lines[0].lstrip()}"
            yield from lines[1:]
        else:
            yield from [dash, *lines]

    def _scalar(self, key: str, value: Any, indent: int) -> Iterator[str]:
        if not isinstance(value, str):
            yield f"{key} {json.dumps(value)}"
        elif "\n" in value or ('"' in value and "'" in value):
            yield f"{key} {'|' if value.endswith(chr(10)) else '|-'}"
            for line in with_values(value, self.release).removesuffix("\n").split("\n"):
                yield f"{' ' * (indent + 2)}{line}" if line else ""
        else:
            text = with_values(value, self.release)
            yield f"{key} {text if text == value and _is_plain(text) else _quoted(value, text)}"

    @staticmethod
    def _set(name: str, value: str, indent: int, otherwise: list[str] | None = None) -> Iterator[str]:
        """Yield a field with a value if that is set, and other lines if not."""
        yield f"{{{{- with {value} }}}}"
        yield f"{' ' * indent}{name}: {{{{- toYaml . | nindent {indent + 2} }}}}"
        if otherwise is not None:
            yield from ["{{- else }}", *otherwise]
        yield "{{- end }}"

    def _joined(self, indent: int, path: Path) -> Iterator[str]:
        if path in self.settings.joined:
            yield f"{{{{- with {self.settings.joined[path]} }}}}"
            yield f"{' ' * indent}{{{{- toYaml . | nindent {indent} }}}}"
            yield "{{- end }}"


def _conditional(condition: str, lines: list[str]) -> list[str]:
    return [f"{{{{- if {condition} }}}}", *lines, "{{- end }}"] if condition else lines


def _name(node: Fields) -> str:
    found = node.fields.get("name")
    scalar = found[1][0].node if found else None
    return str(scalar.value) if isinstance(scalar, Scalar) else ""


def _key(name: str) -> str:
    return name if _is_plain(name) else json.dumps(name)


def _is_plain(text: str) -> bool:
    """Report whether a text needs no quotes in YAML."""
    try:
        return bool(text) and yaml.safe_load(text) == text and yaml.safe_load(f"a: {text}") == {"a": text}
    except yaml.YAMLError:
        return False


def _quoted(value: str, text: str) -> str:
    """Return a text in the quotes that `value` does not have; the expressions in it may have any."""
    return f"'{text}'" if '"' in value or "\\" in value else f'"{text}"'
