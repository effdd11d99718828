"""The Go structs of the data.

A struct is text: its fields, separated by semicolons. A field has its number in Protobuf, its name in JSON with the options of its tag,
and its type. The name of an embedded struct begins with `&`. A named slice or map has its name before `=`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.generated import archive
from apiext.base.meta.golang.struct_table import SIMPLE_TYPES, TYPE_META
from apiext.base.meta.golang.struct_type import CompositeStruct, Field, promoted
from apiext.base.meta.golang.type_model import Bool, GoType, Int, Map, Pointer, Raw, Slice, String
from apiext.base.meta.golang.value_types import BYTES, Bytes, IntOrString, QuantityText
from apiext.base.meta.objectmeta.canonical import OBJECT_META

if TYPE_CHECKING:
    from apiext.base.meta.gvk import GroupVersionKind

_OMISSIBLE: Final = (String, Bool, Int, Pointer, Slice, Map, Bytes)
"""Types of fields that `omitempty` omits; others are structs in Go."""
_KNOWN: Final[dict[str, GoType]] = {
    **SIMPLE_TYPES,
    "ObjectMeta": OBJECT_META,
    "Quantity": QuantityText(),
    "IntOrString": IntOrString(),
    "RawExtension": Raw("runtime.RawExtension", keep_order=True),
    "FieldsV1": Raw("v1.FieldsV1"),
    "[]uint8": BYTES,
}


def struct_of(kind: GroupVersionKind) -> CompositeStruct:
    """Return the struct of a kind of the data; the first call reads all texts."""
    return named_struct(_data()["kinds"]["/".join(kind)])


def definition_name(struct: CompositeStruct) -> str:
    """Return the name of a struct's OpenAPI definition."""
    path = struct.path.replace("/", ".")
    return f"io.k8s.{path}" if path.startswith("kube-aggregator.") else f"io.k8s.api.{path}"


def declared_defaults(path: str) -> dict[str, Any]:
    """Return the declared defaults of a struct's fields."""
    found: dict[str, Any] = _data()["defaults"].get(path, {})
    return found


@cache
def _data() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = archive.read("types")
    return found


@cache
def named_struct(key: str) -> CompositeStruct:
    """Return a struct by the path of its package and its name, such as core/v1.Pod. It is always the same object."""
    package, _, name = key.rpartition("/")[2].rpartition(".")
    structs = _data()["structs"]
    made = CompositeStruct(name, package, key)
    fields: list[Field] = []
    for entry in filter(None, structs[key].split(";")):
        number, tag, text = entry.split(" ")
        if tag == "&TypeMeta":
            fields += TYPE_META
        elif tag.startswith("&"):
            embedded = named_struct(text)
            fields += promoted(embedded, tag[1:])
            if int(number):
                made.embedded += ((int(number), embedded),)
        else:
            fields.append(_field(int(number), tag, _type(text)))
    made.define(*fields)
    return made


def _field(number: int, tag: str, go_type: GoType) -> Field:
    name, *options = tag.split(",")
    return Field(name, go_type, omit_empty=bool(options) and isinstance(go_type, _OMISSIBLE), number=number)


def _type(text: str, name: str = "") -> GoType:
    if text in _KNOWN:
        return _KNOWN[text]
    if text.startswith("*"):
        return Pointer(_type(text[1:]))
    if text.startswith("[]"):
        return Slice(_type(text[2:]), name)
    if text.startswith("map[string]"):
        return Map(_type(text[len("map[string]") :]), name)
    name, equals, rest = text.partition("=")
    if equals:
        return _type(rest, name)
    return named_struct(text) if "/" in text else String(text)
