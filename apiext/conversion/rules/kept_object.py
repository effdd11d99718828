"""An object as it is before rules change it in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from apiext.conversion.rules.carried.difference import IDENTITY, TEXTS
from apiext.meta.encoding import json_values

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object

_SORTED: Final = orjson.OPT_SORT_KEYS


class KeptObject:
    """The present state of all that rules may change, and of what errors name.

    Most conversions need no more than whether another object is the same: it is kept as JSON, which takes a fraction of the time of a copy.
    """

    __slots__ = ("_content", "_head", "_texts")

    def __init__(self, obj: Object) -> None:
        content = _content(obj)
        self._content: bytes | Object
        try:
            self._content = orjson.dumps(content, option=_SORTED)
        except orjson.JSONEncodeError:
            # texts that are not UTF-8, or more levels than orjson writes
            self._content = json_values.copy(content)
        metadata = obj["metadata"]
        self._texts = _texts(metadata)
        self._head: Object = {"apiVersion": obj["apiVersion"], "kind": obj.get("kind"), "metadata": metadata | self._texts}

    def is_same(self, obj: Object) -> bool:
        """Return whether an object surely has the same content, labels and annotations."""
        if not isinstance(self._content, bytes) or not json_values.equal(_texts(obj["metadata"]), self._texts):
            return False
        try:
            return orjson.dumps(_content(obj), option=_SORTED) == self._content
        except orjson.JSONEncodeError:
            return False

    def take(self) -> Object:
        """Return the object, once. It shares no value with the original that rules may change."""
        content: Object = orjson.loads(self._content) if isinstance(self._content, bytes) else self._content
        return content | self._head


def _content(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name not in IDENTITY}


def _texts(metadata: Object) -> Object:
    return {name: dict(metadata[name]) for name in TEXTS if type(metadata.get(name)) is dict}
