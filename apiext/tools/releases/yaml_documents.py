"""Documents of YAML and JSON files, one by one, and three times as fast as PyYAML's constructors for what manifests have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.configuration import json_loader
from apiext.base.meta.encoding.documents import parse
from apiext.base.meta.limits import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    import yaml

_PLAIN_TYPES: Final = frozenset({str, bool, type(None)})
_MAX_INT64: Final = 2**63 - 1
_NO_KEY: Final = object()


class _UnusualError(Exception):
    """The file has what only the complete parser reads as it should: tags, anchors, merges, other keys than texts, mistakes."""


def documents(data: bytes) -> Iterator[Any]:
    """Yield the documents of a file as JSON values, as `parse` returns them. Omit empty ones.

    Raises:
        FileProblem: the file is neither JSON nor YAML. Documents before the mistake may have been yielded.
    """
    if data.lstrip()[:1] == b"{":
        yield from parse(data)
        return
    done = 0
    try:
        for document in _Builder(data).documents():
            yield document
            done += 1
    except _UnusualError:
        yield from parse(data)[done:]


class _Builder:
    """Builds values from the events of the parser."""

    def __init__(self, data: bytes) -> None:
        import yaml

        self._yaml = yaml
        self._loader: Any = json_loader()(data)
        # texts that begin otherwise are texts
        self._special = frozenset(self._loader.yaml_implicit_resolvers)
        self._known: dict[str, Any] = {}

    def documents(self) -> Iterator[Any]:
        """Yield the documents. Raise _UnusualError."""
        yaml = self._yaml
        try:
            while (event := self._loader.get_event()) is not None:
                if type(event) is yaml.DocumentStartEvent:
                    document = self._document()
                    if document is not None:
                        yield document
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise _UnusualError from error
        finally:
            self._loader.dispose()

    def _document(self) -> Any:
        yaml, next_event = self._yaml, self._loader.get_event
        stack: list[tuple[Any, Any]] = []
        holder: Any = None
        key: Any = _NO_KEY
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                value = self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                if event.anchor is not None or event.tag is not None or len(stack) >= MAX_DEPTH:
                    raise _UnusualError
                stack.append((holder, key))
                holder, key = ({} if kind is yaml.MappingStartEvent else []), _NO_KEY
                continue
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                value = holder
                holder, key = stack.pop()
            else:
                raise _UnusualError
            if holder is None:
                return value
            if type(holder) is list:
                holder.append(value)
            elif key is not _NO_KEY:
                holder[key] = value
                key = _NO_KEY
            elif type(value) is str:
                key = value
            else:
                raise _UnusualError

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if event.tag is not None or event.anchor is not None:
            raise _UnusualError
        if not event.implicit[0] or text[:1] not in self._special:
            return text
        if text not in self._known:
            self._known[text] = self._resolved(text)
        return self._known[text]

    def _resolved(self, text: str) -> Any:
        """Return the value of a plain text that may be a number, a boolean or null."""
        node = self._yaml.ScalarNode(self._loader.resolve(self._yaml.ScalarNode, text, (True, False)), text)
        if node.tag == "tag:yaml.org,2002:merge":
            raise _UnusualError
        value = self._loader.construct_object(node)
        if not _is_exact(value):
            raise _UnusualError
        return value


def _is_exact(value: Any) -> bool:
    """Report whether JSON has a value as it is."""
    if type(value) is int:
        return -_MAX_INT64 - 1 <= value <= _MAX_INT64
    return math.isfinite(value) if type(value) is float else type(value) in _PLAIN_TYPES
