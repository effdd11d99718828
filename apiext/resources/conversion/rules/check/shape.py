"""A structural schema that rules change: what objects look like on their way between two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.model import EACH

if TYPE_CHECKING:
    from apiext.resources.conversion.rules.model import FieldSteps
    from apiext.schema.model import Props

ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
"""A schema that allows every value."""
TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "object", "additionalProperties": TEXT}
_METADATA: Final = {"type": "object", "properties": {"labels": _TEXTS, "annotations": _TEXTS}}


class ChangingSchema:
    """The schema of one value, with those below it. Children are made at their first use."""

    def __init__(self, raw: Props, placed: str = "", origin: FieldSteps = ()) -> None:
        """Begin with the keywords of a schema. `origin` is the path of the value in the version that it comes from."""
        self.raw = raw
        """The keywords, apart from those that the attributes hold once `is_open`."""
        self.placed = placed
        """The part of the rules that put the value here; empty for a value that stands where its version has it."""
        self.because: tuple[FieldSteps, ...] = (origin,)
        """Fields of the version that it comes from: where the value is, one of them was."""
        self.follows: tuple[FieldSteps, ...] = (origin,)
        """Fields of that version: where one of them was, the value is."""
        self.constants: list[tuple[Any, str]] = []
        """Values that rules give, with the part of the rules that names each."""
        self.is_convertible = False
        """Whether a text becomes an integer or boolean where the schema wants one."""
        self.is_computed = False
        """Whether an expression of the other direction sets the field: it may end here."""
        self.is_emptied = False
        """Whether rules have taken all fields of an object, which stays where it was empty before."""
        self.is_open = False
        """Whether the children are made, and may differ from the keywords."""
        self._origin = origin
        self._properties: dict[str, ChangingSchema] = {}
        self._items: ChangingSchema | None = None
        self._additional: ChangingSchema | None = None

    def _open(self) -> None:
        if self.is_open:
            return
        self.is_open = True
        raw, origin = self.raw, self._origin
        properties = raw.get("properties") or {}
        self._properties = {name: ChangingSchema(child or {}, origin=(*origin, name)) for name, child in properties.items()}
        items, additional = raw.get("items"), raw.get("additionalProperties")
        self._items = ChangingSchema(items, origin=(*origin, EACH)) if isinstance(items, dict) else None
        values = ANYTHING if additional is True else additional
        self._additional = ChangingSchema(values, origin=(*origin, EACH)) if isinstance(values, dict) else None

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
    def required(self) -> frozenset[str]:
        """Return the fields that the keywords require. A default makes a field as good as required."""
        defaulted = (name for name, child in (self.raw.get("properties") or {}).items() if (child or {}).get("default") is not None)
        return frozenset((*(self.raw.get("required") or ()), *defaulted))

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

    def implies(self, known: FieldSteps, found: FieldSteps) -> bool:
        """Return whether an object of this schema with a known field surely has another one, too: in the same item if both are in one."""
        shape: ChangingSchema | None = self
        for index, step in enumerate(found):
            if shape is None:
                return False
            if known[: index + 1] != found[: index + 1] and not (shape.raw.get("minItems") if step == EACH else step in shape.required):
                return False
            shape = shape.child(step)
        return True

    def comes_with(self, other: ChangingSchema) -> None:
        """Note that the value is where another one is, such as one of its fields."""
        self.because += tuple(each for each in other.because if not any(each[: len(known)] == known for known in self.because))
        self.follows += tuple(each for each in other.follows if each not in self.follows)

    def stand_for(self, other: ChangingSchema) -> None:
        """Note that the value is where another one was, and nowhere else."""
        self.because, self.follows = other.because, other.follows

    def copied(self) -> ChangingSchema:
        """Return an equal schema that shares nothing that rules change."""
        found = ChangingSchema(self.raw, self.placed, self._origin)
        found.stand_for(self)
        found.constants = [*self.constants]
        found.is_convertible, found.is_computed, found.is_open = self.is_convertible, self.is_computed, self.is_open
        found._properties = {name: child.copied() for name, child in self._properties.items()}
        found._items = self._items and self._items.copied()
        found._additional = self._additional and self._additional.copied()
        return found

    def as_list(self, placed: str) -> ChangingSchema:
        """Return the schema of a list of this value."""
        found = ChangingSchema({"type": "array"}, placed)
        found.stand_for(self)
        found._open()
        found._items = self
        return found

    def as_map(self, placed: str) -> ChangingSchema:
        """Return the schema of a map of this value."""
        found = ChangingSchema({"type": "object"}, placed)
        found.stand_for(self)
        found._open()
        found._additional = self
        return found


def shape_of(raw: Props | None, *, preserves: bool = False) -> ChangingSchema:
    """Return the schema of a whole object, with the parts of the metadata that rules may name."""
    shape = ChangingSchema({**(raw or ANYTHING), **(ANYTHING if preserves else {})})
    for name in ("apiVersion", "kind"):
        shape.properties[name] = ChangingSchema(TEXT)
    shape.properties["metadata"] = ChangingSchema(_METADATA, origin=("metadata",))
    return shape


def value_shape(value: Any, holder: ChangingSchema, placed: str, named: str) -> ChangingSchema:
    """Return the schema of a value that a rule gives each object of the schema `holder`.

    `placed` and `named` are the parts of the rule with its place and the value.
    """
    shape = ChangingSchema({} if value is None else {"type": type_of(value)}, placed)
    shape.because = shape.follows = holder.because
    if type(value) is dict:
        for name, member in value.items():
            shape.properties[name] = value_shape(member, shape, placed, named)
    else:
        shape.constants.append((value, named))
        shape.raw = {**shape.raw, "enum": [value]}
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
