"""Structs of the model of Go types, written as tables.

A table has an entry for each field, separated by commas: the field's number in Protobuf (without one it has no Protobuf form), its
name in JSON with `!` if Go writes it even when it is empty, and its type in Go's notation, `string` if it is left out:

    "TypeMeta, 1 metadata! ObjectMeta, 4 labels map[string]string, 6 controller *bool"

An embedded struct with a message of its own has `&` before its name:

    "1 operations []string, 2 &Rule"
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.golang.struct_type import CompositeStruct, Field, Struct, promoted
from apiext.base.meta.golang.type_model import Bool, GoType, Int, Map, Pointer, Slice, String
from apiext.base.meta.golang.value_types import MicroTime, Time

_STRING: Final = String()
TYPE_META: Final = (Field("kind", _STRING, embedded=("TypeMeta",)), Field("apiVersion", _STRING, embedded=("TypeMeta",)))
"""The fields of every kind."""
SIMPLE_TYPES: Final[dict[str, GoType]] = {
    "": _STRING,
    "string": _STRING,
    "bool": Bool(),
    "int32": Int(32),
    "int64": Int(64),
    "Time": Time(),
    "MicroTime": MicroTime(),
}
"""Types by their names in tables."""


def struct(name: str, table: str, *types: GoType, package: str = "v1") -> Struct:
    """Return the struct of a table; `types` are those that it names besides Go's own. Another name with a point is a string type's."""
    known = SIMPLE_TYPES | {each.struct if isinstance(each, Struct) else each.name: each for each in types}
    entries = [entry.split() for entry in table.split(",") if entry]
    embedded = tuple((int(words[0]), known[words[1][1:]]) for words in entries if words[-1].startswith("&"))
    made = CompositeStruct(name, package, f"{package}.{name}") if embedded else Struct(name, package)
    if isinstance(made, CompositeStruct):
        made.embedded = tuple((number, of) for number, of in embedded if isinstance(of, Struct))
    return made.define(*(field for words in entries for field in _fields(words, known)))


def _fields(words: list[str], known: dict[str, GoType]) -> tuple[Field, ...]:
    if words == ["TypeMeta"]:
        return TYPE_META
    number = int(words[0]) if words[0].isdigit() else 0
    words = words[1:] if number else words
    if words[0].startswith("&"):
        embedded = known[words[0][1:]]
        return tuple(promoted(embedded, words[0][1:])) if isinstance(embedded, Struct) else ()
    name, go_type = words[0].removesuffix("!"), _type(words[1] if len(words) > 1 else "", known)
    return (Field(name, go_type, omit_empty=not words[0].endswith("!"), number=number),)


def _type(text: str, known: dict[str, GoType]) -> GoType:
    for prefix, of in (("*", Pointer), ("[]", Slice), ("map[string]", Map)):
        if text.startswith(prefix) and text not in known:
            return of(_type(text.removeprefix(prefix), known))
    return known.get(text) or (String(text) if "." in text else known[text])
