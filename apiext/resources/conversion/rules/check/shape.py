"""A structural schema that rules change: what objects look like on their way between two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.model import EACH

if TYPE_CHECKING:
    from apiext.schema.model import Props

ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
"""A schema that allows every value."""
TEXT: Final = {"type": "string"}
_TYPE_META: Final = ("apiVersion", "kind", "metadata")
_TEXTS: Final = {"type": "object", "additionalProperties": TEXT}
_METADATA: Final = {"type": "object", "properties": {"labels": _TEXTS, "annotations": _TEXTS}}


class ChangingSchema:
    """The schema of one value, with those below it. Children are made at their first use."""

    def __init__(self, raw: Props, placed: str = "") -> None:
        self.raw = raw
        """The keywords, apart from those that the attributes hold once `is_open`."""
        self.placed = placed
        """The part of the rules that put the value here; empty for a value that stands where its version has it."""
        self.constants: list[tuple[Any, str]] = []
        """Values that rules give, with the part of the rules that names each."""
        self.is_convertible = False
        """Whether a text becomes an integer or boolean where the schema wants one."""
        self.is_computed = False
        """Whether an expression of the other direction sets the field: it may end here."""
        self.is_open = False
        """Whether the children are made, and may differ from the keywords."""
        self._properties: dict[str, ChangingSchema] = {}
        self._items: ChangingSchema | None = None
        self._additional: ChangingSchema | None = None
        self._required: set[str] = set()

    def _open(self) -> None:
        if self.is_open:
            return
        self.is_open = True
        raw = self.raw
        self._properties = {name: ChangingSchema(child or {}) for name, child in (raw.get("properties") or {}).items()}
        items, additional = raw.get("items"), raw.get("additionalProperties")
        self._items = ChangingSchema(items) if isinstance(items, dict) else None
        values = ANYTHING if additional is True else additional
        self._additional = ChangingSchema(values) if isinstance(values, dict) else None
        # a default makes a field as good as required
        defaulted = (name for name, child in self._properties.items() if child.raw.get("default") is not None)
        self._required = {*(raw.get("required") or ()), *defaulted}

    @property
    def properties(self) -> dict[str, ChangingSchema]:
        """Return the fields of an object; rules change them."""
        self._open()
        return self._properties

    @property
    def items(self) -> ChangingSchema | None:
        """Return the items of a list."""
        self._open()
        return self._items

    @property
    def additional(self) -> ChangingSchema | None:
        """Return the values of a map."""
        self._open()
        return self._additional

    @property
    def required(self) -> set[str]:
        """Return the fields that an object surely has; rules change them."""
        self._open()
        return self._required

    @property
    def preserves(self) -> bool:
        """Return whether an object may have fields that the schema does not name."""
        return self.raw.get("x-kubernetes-preserve-unknown-fields") is True

    @property
    def types(self) -> frozenset[str]:
        """Return the JSON types that the value may have; none for any."""
        if self.raw.get("x-kubernetes-int-or-string") is True:
            return frozenset({"integer", "string"})
        kind = self.raw.get("type")
        return frozenset({kind}) if kind else frozenset()

    def child(self, step: str) -> ChangingSchema | None:
        """Return the value of a field, of a map or, for EACH, of all items or values. None if the schema has no such."""
        found = self.items or self.additional if step == EACH else self.properties.get(step) or self.additional
        return found or (ChangingSchema(ANYTHING) if self.preserves and self.types <= {"object"} else None)

    def is_sure(self, step: str) -> bool:
        """Return whether an object surely has a field; an item of a list that is there always is."""
        return step == EACH or step in self.required

    def as_list(self, placed: str) -> ChangingSchema:
        """Return the schema of a list of this value."""
        found = ChangingSchema({"type": "array"}, placed)
        found._open()
        found._items = self
        return found

    def as_map(self, placed: str) -> ChangingSchema:
        """Return the schema of a map of this value."""
        found = ChangingSchema({"type": "object"}, placed)
        found._open()
        found._additional = self
        return found


def shape_of(raw: Props | None, *, preserves: bool = False) -> ChangingSchema:
    """Return the schema of a whole object, with the parts of the metadata that rules may name."""
    shape = ChangingSchema({**(raw or ANYTHING), **(ANYTHING if preserves else {})})
    for name in ("apiVersion", "kind"):
        shape.properties[name] = ChangingSchema(TEXT)
    shape.properties["metadata"] = ChangingSchema(_METADATA)
    shape.required.update(_TYPE_META)
    return shape


def value_shape(value: Any, placed: str, named: str) -> ChangingSchema:
    """Return the schema of a value that a rule gives; `placed` and `named` are the parts of the rule with its place and the value."""
    shape = ChangingSchema({} if value is None else {"type": type_of(value)}, placed)
    if type(value) is dict:
        for name, member in value.items():
            shape.properties[name] = value_shape(member, placed, named)
        shape.required.update(value)
    else:
        shape.constants.append((value, named))
    return shape


def type_of(value: Any) -> str:
    """Return the JSON type of a value, as schemas call it."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "null"
