"""Random schemas, rules and objects of a CRD with three versions, by hypothesis.

Names are few, so that rules meet fields, other rules' fields and values of other types.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.interface import CompiledRules
from apiext.resources.conversion.rules.model import EACH, FieldSteps, Rule, Side
from apiext.schema.compiled import CompiledSchema

_NAMES = st.sampled_from(["a", "b", "c", "spec"])
_TEXTS = st.sampled_from(["x", "a:b", "1", "a", "b:", "a:b:c", "true", ""])
_SCALARS = st.one_of(_TEXTS, st.sampled_from([1, 2, True]))
_VALUES = st.recursive(
    st.one_of(_SCALARS, st.none()), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3), max_leaves=10
)
_LEAVES = st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"x-kubernetes-int-or-string": True}])
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_PREFIXES: Sequence[FieldSteps] = [(), ("spec",), ("a",), ("a", EACH), ("b", "a", EACH), ("c",)]
_LOCAL = st.lists(_NAMES, min_size=1, max_size=2).map(tuple)
_PAIRS = (("x", "y"), ("a", "z")), (("y", "x"), ("z", "a"), ("1", "x"))


@dataclass(frozen=True)
class RandomConversion:
    """Rules between v1, v2 (the hub) and v3, and an object."""

    rules: CompiledRules
    schemas: dict[str, CompiledSchema]
    spokes: tuple[model.Spoke, ...]
    values: dict[str, Any]
    """The object without apiVersion."""

    def obj(self, version: str) -> dict[str, Any]:
        """Return the object as one of a version, as it would be stored."""
        obj = {"apiVersion": f"e/{version}", "kind": "W", "metadata": {"name": "w"}, **self.values}
        self.schemas[version].coerce(obj)
        return obj


def _objects(schema: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(_NAMES, schema, max_size=3).map(lambda properties: {"type": "object", "properties": properties})


def _schemas(depth: int) -> st.SearchStrategy[Any]:
    if not depth:
        return _LEAVES
    inner = _schemas(depth - 1)
    lists = inner.map(lambda items: {"type": "array", "items": items})
    maps = inner.map(lambda values: {"type": "object", "additionalProperties": values})
    return st.one_of(_LEAVES, _objects(inner), lists, maps)


_ROOTS = _objects(_schemas(2))


def _value(draw: st.DrawFn, schema: Any) -> Any:
    """Draw a value of a schema; one of ten follows no schema."""
    if draw(st.integers(0, 9)) == 0:
        return draw(_VALUES)
    kind = schema.get("type")
    if kind == "object" and "additionalProperties" in schema:
        return {name: _value(draw, schema["additionalProperties"]) for name in draw(st.sets(_NAMES))}
    if kind == "object":
        return {name: _value(draw, child) for name, child in schema.get("properties", {}).items() if draw(st.booleans())}
    if kind == "array":
        return [_value(draw, schema["items"]) for _ in range(draw(st.integers(0, 3)))]
    if kind == "integer":
        return draw(st.integers(0, 2))
    return draw(st.booleans() if kind == "boolean" else _TEXTS)


@st.composite
def _rules(draw: st.DrawFn) -> Rule:
    prefix = draw(st.sampled_from(_PREFIXES))
    first, second, third, fourth = (prefix + path for path in draw(st.lists(_LOCAL, min_size=4, max_size=4, unique=True)))
    place = draw(st.sampled_from([first, prefix or first]))
    member, last = draw(st.sampled_from(["a", "b", None])), draw(st.booleans())
    key, value = draw(st.sampled_from(["key", "a"])), draw(st.sampled_from([None, "b", "v"]))
    rules: list[Rule] = [
        model.Move(first, second),
        model.Copy(first, second),
        model.Default(first, draw(_SCALARS), draw(st.sampled_from(Side))),
        model.EnumMap(place, *_PAIRS),
        model.Wrap(place, member),
        model.Unwrap(place, member),
        model.Split(first, (second, third), ":", last),
        model.Join((first, second), third, ":", last),
        model.Join((first, second, third), fourth, ":", last),
        model.ListToMap(place, key, value),
        model.MapToList(place, key, value),
        model.Copy(("spec", "a"), ("metadata", "labels", "l")),
        model.Move(("a",), ("metadata", "annotations", "l")),
    ]
    return draw(st.sampled_from(rules))


@st.composite
def random_conversions(draw: st.DrawFn) -> RandomConversion:
    """Draw a CRD with rules and an object."""
    v1, v2, v3 = draw(_ROOTS), draw(_ROOTS), draw(_ROOTS)
    v2 = draw(st.sampled_from([v1, v2, _OPEN]))
    spokes = tuple(model.Spoke(version, tuple(draw(st.lists(_rules(), max_size=3)))) for version in ("v1", "v3"))
    schemas = {version: CompiledSchema(schema) for version, schema in (("v1", v1), ("v2", v2), ("v3", v3))}
    values = {name: _value(draw, child) for name, child in v1["properties"].items() if draw(st.booleans())}
    return RandomConversion(compile_rules(model.ConversionRules("w.e", "v2", spokes), schemas), schemas, spokes, values)
