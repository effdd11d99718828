"""One YAML document with the place of each value in its file, for error messages and for edits in place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from apiext.base.meta.encoding.json_decoder import BodyDecodeError
from apiext.base.meta.encoding.yaml_scalars import MERGE, scalar
from apiext.base.meta.limits import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Mapping

YAMLPath = tuple[str | int, ...]
"""Names of members and numbers of items, from the document down."""
_MERGE: Final = "<<"


class LocatedYAMLError(ValueError):
    """The text is not one YAML document of JSON values. The message begins with the line."""


class Span(NamedTuple):
    """The place of a value. Lines and columns count from 0."""

    line: int
    column: int
    end_line: int
    """The line after the last character of a block scalar, else the line of the last character."""
    end_column: int
    key_line: int
    """The line of the member's name, or of the value if it is an item."""
    key_column: int
    is_alias: bool = False


class LocatedDocument(NamedTuple):
    """A document and where its values are."""

    value: Any
    spans: Mapping[YAMLPath, Span]

    def line(self, path: YAMLPath) -> int:
        """Return the line of a value, counted from 1, or that of the nearest value around it."""
        while path and path not in self.spans:
            path = path[:-1]
        span = self.spans.get(path)
        return span.key_line + 1 if span else 1


def located(data: bytes) -> LocatedDocument:
    """Return the only document of a text; empty ones do not count. An anchor may be defined again, as YAML allows.

    Raises:
        LocatedYAMLError: the text is not YAML, or has what JSON has not.
    """
    loader: Any = yaml.CSafeLoader(data)
    try:
        return _Composer(loader).document()
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        raise LocatedYAMLError(f"line {mark.line + 1 if mark else 1}: {error.problem or error}") from error
    except yaml.YAMLError as error:
        raise LocatedYAMLError(f"line 1: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


class _Composer:
    """Builds the values of a document from the events of the parser."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._anchors: dict[str, Any] = {}
        self._spans: dict[YAMLPath, Span] = {}

    def document(self) -> LocatedDocument:
        """Return the only document that is not empty. Raise LocatedYAMLError."""
        found: LocatedDocument | None = None
        while (event := self._loader.get_event()) is not None:
            if not isinstance(event, yaml.DocumentStartEvent) or _is_empty(first := self._loader.get_event()):
                continue
            if found is not None:
                raise LocatedYAMLError(f"line {first.start_mark.line + 1}: another document begins, where one is expected")
            found = LocatedDocument(self._value(first, (), None), self._spans)
        return found or LocatedDocument(None, {})

    def _value(self, event: Any, path: YAMLPath, key: Any) -> Any:
        """Return the value that begins with an event; `key` is the event of its name."""
        if len(path) > MAX_DEPTH:
            raise LocatedYAMLError(f"line {event.start_mark.line + 1}: nested deeper than {MAX_DEPTH} levels")
        start: Any = event.start_mark
        end: Any = event.end_mark
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise LocatedYAMLError(f"line {start.line + 1}: undefined alias {event.anchor}")
            value = self._anchors[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent):
            value, end = self._mapping(path)
        else:
            value, end = self._sequence(path)
        if getattr(event, "anchor", None) is not None:
            self._anchors[event.anchor] = value
        name: Any = (key or event).start_mark
        is_alias = isinstance(event, yaml.AliasEvent)
        self._spans[path] = Span(start.line, start.column, end.line, end.column, name.line, name.column, is_alias)
        return value

    def _mapping(self, path: YAMLPath) -> tuple[dict[str, Any], Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(key := self._loader.get_event(), yaml.MappingEndEvent):
            event = self._loader.get_event()
            if not isinstance(key, yaml.ScalarEvent):
                raise LocatedYAMLError(f"line {key.start_mark.line + 1}: the name of a member is not a text")
            if key.implicit[0] and key.value == _MERGE:
                self._merge(self._value(event, (*path, key.value), key), merged, key)
            else:
                found[key.value] = self._value(event, (*path, key.value), key)
        return merged | found, key.end_mark

    def _merge(self, value: Any, merged: dict[str, Any], key: Any) -> None:
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, dict):
                raise LocatedYAMLError(f"line {key.start_mark.line + 1}: << needs a mapping")
            for name, member in each.items():
                merged.setdefault(name, member)

    def _sequence(self, path: YAMLPath) -> tuple[list[Any], Any]:
        found: list[Any] = []
        while not isinstance(event := self._loader.get_event(), yaml.SequenceEndEvent):
            found.append(self._value(event, (*path, len(found)), None))
        return found, event.end_mark

    def _scalar(self, event: Any) -> Any:
        try:
            value = scalar(event)
        except BodyDecodeError as error:
            raise LocatedYAMLError(f"line {event.start_mark.line + 1}: {error}") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise LocatedYAMLError(f"line {event.start_mark.line + 1}: {event.value} is no JSON value")
        return event.value if value is MERGE else value


def _is_empty(event: Any) -> bool:
    """Return whether a document that begins with an event has no content."""
    return isinstance(event, yaml.ScalarEvent) and event.value == "" and event.implicit[0] and event.anchor is None
