"""YAML with the types and limits of go-yaml v2, as the reference reads it; and a writer whose output it reads equally.

Mirrors sigs.k8s.io/yaml over go.yaml.in/yaml/v2 (resolve.go, decode.go). PyYAML parses and writes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.json_decoder import BodyDecodeError, DepthError
from apiext.base.meta.encoding.yaml_scalars import FLOAT, MERGE, PREFIX, TIMESTAMP, resolve, scalar
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_ALIASED_CHARACTERS, MAX_DEPTH, MAX_DIRECTIVE_BYTES

_LONG_LISTS: Final = frozenset({"items", "rows"})
"""Members of lists and tables with many elements."""
_DOCUMENT_END: Final = b"...\n"
"""PyYAML writes it after a block scalar that keeps its last line breaks."""
_MAX_OPEN: Final = 2 * MAX_DEPTH
"""Levels that the parser builds. It refuses values beyond MAX_DEPTH, but builds them, so that the error can name a part."""
# At the start of the body, or after a byte order mark or a line break, in UTF-8 or UTF-16.
_TAG_DIRECTIVE: Final = re.compile(rb"(?:^|[\r\n\x85\xa8\xa9\xbf\xfe\xff]\0?|[()][\0 ])%\0?T\0?A\0?G")
_DOCUMENT_START: Final = re.compile(rb"(?:^|[\r\n])\0?-\0?-\0?-")


def parse(data: bytes, check: Callable[[int], object] = int) -> tuple[Any, list[str]]:
    """Return the first document as a JSON value, and messages about duplicate keys.

    `check` gets the characters that the aliases so far stand for, and may raise: a few bytes can stand for MAX_ALIASED_CHARACTERS.

    Raises:
        BodyDecodeError: the data is not YAML, has no JSON form (the text is go-yaml's), its aliases stand for more than
            MAX_ALIASED_CHARACTERS, or it is nested deeper than MAX_DEPTH (DepthError).
    """
    _check_directives(data)
    try:
        builder = _Builder(data, check)
        value = builder.document()
    except yaml.reader.ReaderError as error:
        raise BodyDecodeError(f"yaml: {error.reason}") from error
    except yaml.MarkedYAMLError as error:
        raise BodyDecodeError(f"yaml: {_where(error)}{error.problem or 'unknown problem parsing YAML content'}") from error
    except (UnicodeError, ValueError) as error:
        if isinstance(error, BodyDecodeError):
            raise
        raise BodyDecodeError("yaml: control characters are not allowed") from error
    if json_values.is_deeper(value, MAX_DEPTH):
        raise DepthError(value)
    return value, builder.duplicates


def _check_directives(data: bytes) -> None:
    """Raise BodyDecodeError for long %TAG directives: libyaml compares each pair, and repeats their text in each tag."""
    if _TAG_DIRECTIVE.search(data):
        start = _DOCUMENT_START.search(data)
        end = start.start() if start else len(data)
        if end > MAX_DIRECTIVE_BYTES and _TAG_DIRECTIVE.search(data, 0, end):
            raise BodyDecodeError(f"yaml: %TAG directives beyond the first {MAX_DIRECTIVE_BYTES} bytes are not allowed")


def _where(error: yaml.MarkedYAMLError) -> str:
    line = error.problem_mark.line if error.problem_mark else 0
    if line:
        line += isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark:
        line = error.context_mark.line
    return f"line {line}: " if line else ""


class _Mapping:
    """A mapping under construction."""

    __slots__ = ("key", "result", "seen", "waiting")

    def __init__(self) -> None:
        self.result: dict[str, Any] = {}
        self.seen: set[Any] = set()
        self.key: Any = None
        self.waiting = True


class _Node:
    """A value of the document. When complete, it has the number of characters that an alias of it adds."""

    __slots__ = ("characters", "complete", "value")

    def __init__(self, characters: int) -> None:
        """Begin a node; `characters` is the number of those before it."""
        self.characters = characters
        self.value: Any = None
        self.complete = False

    def finish(self, value: Any, characters: int) -> None:
        """Set the value, and compute the node's own number of characters."""
        self.value, self.complete, self.characters = value, True, characters - self.characters


class _Builder:
    """Builds values from parser events, without recursion."""

    def __init__(self, data: bytes, check: Callable[[int], object]) -> None:
        self._parser = yaml.CSafeLoader(data)
        self._check = check
        self._stack: list[_Mapping | list[Any]] = []
        self._open: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._aliased_characters = 0
        self.duplicates: list[str] = []

    def document(self) -> Any:
        """Return the first document's value, None if there is none."""
        root: list[Any] = []
        self._stack.append(root)
        while True:
            event = self._parser.get_event()
            if event is None or isinstance(event, yaml.DocumentEndEvent | yaml.StreamEndEvent):
                return root[0] if root else None
            self._handle(event)

    def _handle(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            value = scalar(event)
            if event.anchor is not None:
                self._begin(event).finish(value, self._characters(event.end_mark))
            self._finish(value, event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open.append(self._begin(event))
            self._stack.append(_Mapping() if isinstance(event, yaml.MappingStartEvent) else [])
            if len(self._open) > _MAX_OPEN:
                raise DepthError
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self._stack.pop()
            value = done.result if isinstance(done, _Mapping) else done
            self._open.pop().finish(value, self._characters(event.end_mark))
            self._finish(value, event)

    def _characters(self, mark: Any) -> int:
        """Return the number of characters up to a position, with aliases expanded."""
        return int(mark.index) + self._aliased_characters

    def _begin(self, event: yaml.NodeEvent) -> _Node:
        """Return the node for an event, and register its anchor."""
        node = _Node(self._characters(event.start_mark))
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _alias(self, event: yaml.AliasEvent) -> None:
        node = self._anchors.get(event.anchor or "")
        if node is None:
            raise BodyDecodeError(f"yaml: unknown anchor '{event.anchor}' referenced")
        if not node.complete:
            raise BodyDecodeError(f"yaml: anchor '{event.anchor}' value contains itself")
        self._aliased_characters += node.characters
        if self._aliased_characters > MAX_ALIASED_CHARACTERS:
            raise BodyDecodeError("yaml: document contains excessive aliasing")
        self._check(self._aliased_characters)
        if json_values.is_deeper(node.value, _MAX_OPEN - len(self._open)):
            raise DepthError
        self._finish(json_values.copy(node.value), event)

    def _finish(self, value: Any, event: yaml.Event) -> None:
        top = self._stack[-1]
        if isinstance(top, list):
            top.append(_jsonable(value))
        elif top.waiting:
            if isinstance(value, dict | list):
                raise BodyDecodeError(f"yaml: invalid map key: {json_codec.dumps(value).decode()}")
            top.key, top.waiting = value, False
        else:
            self._add_member(top, value, event)

    def _add_member(self, mapping: _Mapping, value: Any, event: yaml.Event) -> None:
        mapping.waiting = True
        if mapping.key is MERGE:
            for source in _sources(value):
                for name in source:
                    self._record_key(mapping, name, event)
                mapping.result.update(source)
            return
        name = _key_text(mapping.key)
        self._record_key(mapping, mapping.key, event)
        mapping.result[name] = _jsonable(value)

    def _record_key(self, mapping: _Mapping, key: Any, event: yaml.Event) -> None:
        marker = (type(key), key)
        if marker in mapping.seen:
            line = event.start_mark.line + 1 if event.start_mark else 0
            self.duplicates.append(f"  line {line}: key {_shown(key)} already set in map")
        mapping.seen.add(marker)


def _sources(value: Any) -> list[dict[str, Any]]:
    """Return the mappings of a merge key in merge order."""
    sources = value[::-1] if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise BodyDecodeError("yaml: map merge requires map or sequence of maps as the value")
    return sources


def _jsonable(value: Any) -> Any:
    """Return a scalar's JSON value: whole floats become integers, integers beyond int64 become floats."""
    if value is MERGE:
        return "<<"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise BodyDecodeError(f"json: unsupported value: {formatting.number(value)}")
        if value.is_integer() and abs(value) < 2**63:
            return int(value)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value)
    return value


def _key_text(key: Any) -> str:
    if key is None:
        raise BodyDecodeError("unsupported map key of type: %!s(<nil>), key: <nil>")
    return key if isinstance(key, str) else formatting.value(key)


def _shown(key: Any) -> str:
    return formatting.quote(key) if isinstance(key, str) else formatting.value(key)


class _Dumper(yaml.CSafeDumper):
    """Writes block style. Quotes every string that go-yaml would read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not isinstance(resolve(text), str) or TIMESTAMP.fullmatch(text):
        style = '"'
    return dumper.represent_scalar(PREFIX + "str", text, style=style)


def _represent_float(dumper: _Dumper, number: float) -> yaml.ScalarNode:
    if number.is_integer() and abs(number) < 2**63:
        return dumper.represent_scalar(PREFIX + "int", str(int(number)))
    return dumper.represent_scalar(PREFIX + "float", formatting.number(number))


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)
_Dumper.add_implicit_resolver(PREFIX + "float", re.compile(rf"^(?:{FLOAT.pattern})$"), list("-+0123456789."))


def dumps(item: Any) -> bytes:
    """Return a JSON value as YAML with sorted keys.

    Write the members of `items` and `rows` one by one: PyYAML's emitter blocks the interpreter, and so the event loop, during a whole
    value. Write an object too deep for PyYAML's recursion (some 300 levels) as JSON, which is valid YAML.
    """
    try:
        if type(item) is dict and not _LONG_LISTS.isdisjoint(item):
            return b"".join(piece.removesuffix(_DOCUMENT_END) for piece in _pieces(item))
        return _dump(item)
    except RecursionError:
        return json_codec.dumps(item) + b"\n"


def dumps_unsorted(item: Any) -> bytes:
    """Return a JSON value as YAML. Members of objects keep their order.

    Raises:
        RecursionError: the value has more than some 300 levels.
    """
    return _dump(item, sort_keys=False)


def _pieces(obj: dict[str, Any]) -> Iterator[bytes]:
    """Yield an object's YAML in pieces, one for each member or element of a long list."""
    for key in sorted(obj):
        members = obj[key]
        if key in _LONG_LISTS and type(members) is list and members:
            yield b"%b:\n" % key.encode()
            # a list in a mapping has no indentation
            for member in members:
                yield _dump([member])
        else:
            yield _dump({key: members})


def _dump(item: Any, *, sort_keys: bool = True) -> bytes:
    text: str = yaml.dump(item, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=sort_keys, width=80)
    return text.encode()
