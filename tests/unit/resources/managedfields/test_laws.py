"""Tests of laws that hold for all values of a type, and of values that are nested deeply."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta import limits
from apiext.resources.managedfields import field_set, validation
from apiext.resources.managedfields.comparison import additions, compare, everything, leaves, same
from apiext.resources.managedfields.managers import Manager
from apiext.resources.managedfields.merge_types import DEDUCED, MergeType
from apiext.resources.managedfields.merging import merge
from apiext.resources.managedfields.structural_types import from_schema
from apiext.resources.managedfields.updater import MissingVersionError, TypedValue, Updater, reconcile, remove, with_named_fields
from apiext.schema.model import Structural
from tests.support.field_sets import written

TEXT = {"type": "string"}
ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": TEXT, "port": {"type": "integer", "default": 80}, "value": TEXT, "free": {"type": "object"}},
}
TYPE = from_schema(
    Structural(
        {
            "type": "object",
            "properties": {
                "text": TEXT,
                "mixed": {"x-kubernetes-int-or-string": True},
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "labels": {"type": "object", "additionalProperties": TEXT},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": TEXT},
                "list": {"type": "array", "items": TEXT},
                "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
                "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"], "items": ITEM},
            },
        }
    )
)
NAMES = st.sampled_from(["a", "b", "c", "d"])


def objects(smallest: int) -> st.SearchStrategy[Any]:
    """Return objects whose objects and lists have at least so many members; with null if there may be none."""
    labels = st.dictionaries(NAMES, NAMES, min_size=smallest)
    scalars = st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | NAMES
    anything = st.recursive(
        scalars if smallest else scalars | st.none(),
        lambda below: st.lists(below, min_size=smallest, max_size=3) | st.dictionaries(NAMES, below, min_size=smallest, max_size=3),
        max_leaves=5,
    )
    items = st.fixed_dictionaries(
        {"name": NAMES},
        optional={"port": st.sampled_from([80, 443]), "value": NAMES, "free": st.dictionaries(NAMES, anything, min_size=smallest)},
    )
    optional = {
        "text": NAMES,
        "mixed": st.integers(0, 2) | NAMES,
        "any": anything,
        "labels": labels if smallest else labels | st.none(),
        "whole": labels,
        "list": st.lists(NAMES, min_size=smallest, max_size=3),
        "set": st.lists(NAMES, min_size=smallest, unique=True),
        "map": st.lists(items, min_size=smallest, max_size=4, unique_by=lambda item: (item["name"], item.get("port", 80))),
    }
    return st.fixed_dictionaries({"kind": st.just("K")} if smallest else {}, optional=optional)


OBJECTS = objects(0)
# The reference prunes null and what is empty in its own way.
PLAIN = objects(1)


class OneVersion:
    """Knows no other version."""

    async def convert(self, value: TypedValue, version: str) -> TypedValue:
        """See VersionConverter.convert."""
        raise MissingVersionError(version)


def typed(value: Any, merge_type: MergeType = TYPE) -> TypedValue:
    """Return a checked value."""
    validation.check(merge_type, value)
    return TypedValue(value, merge_type, "v1")


@given(OBJECTS)
def test_a_value_and_itself(value: Any) -> None:
    """Expect that a value merges into itself, differs in nothing, and has no fields but its own."""
    fields = leaves(TYPE, value)

    assert same(merge(TYPE, value, value), value)
    assert not any(compare(TYPE, value, orjson.loads(orjson.dumps(value))))
    assert field_set.difference(fields, everything(TYPE, value)) == {}
    assert reconcile(TYPE, fields) == fields
    assert field_set.parse(fields) == fields
    assert same(remove(TYPE, value, {}), value or None)
    assert remove(TYPE, value, everything(TYPE, value)) is None


@given(OBJECTS, OBJECTS)
def test_two_values(left: Any, right: Any) -> None:
    """Expect that a comparison can be turned round, and that a merge has all that was applied."""
    there, back = compare(TYPE, left, right), compare(TYPE, right, left)

    assert (there.removed, there.modified, there.added) == (back.added, back.modified, back.removed)
    assert any(there) != same(left, right)
    merged = merge(TYPE, left, right)
    validation.check(TYPE, merged)
    assert same(merge(TYPE, merged, right), merged)


@given(OBJECTS, st.dictionaries(st.sampled_from(["text", "mixed"]), st.sampled_from(["x", "y", 1]), max_size=2))
def test_additions(value: Any, empty: dict[str, Any]) -> None:
    """Find what a comparison finds added to an object that has some of the same texts and nothing else."""
    found = additions(TYPE, empty, value | empty)
    whole = compare(TYPE, empty, value | empty)

    assert found in (whole.added, None)
    assert found is not None or 1 in empty.values()
    assert additions(TYPE, {"text": "x"}, {"text": "y"}) is None


@given(PLAIN, PLAIN, PLAIN)
async def test_apply_twice(first: Any, second: Any, updated: Any) -> None:
    """Expect that a repeated apply is a no-op."""
    updater, applier = Updater(OneVersion()), Manager("a", "Apply")
    owned = await updater.update(typed({"kind": "K"}), typed(updated), {}, Manager("u", "Update", "v1"))
    live = typed(updated)
    for config in (first, second):
        result, owned = await updater.apply(live, typed(config), owned, applier, force=True)
        live = result or live
        assert (owned[applier].fields if applier in owned else {}) == leaves(TYPE, config)
        again, unchanged = await updater.apply(live, typed(config), owned, applier, force=False)
        assert (again, unchanged) == (None, owned)


def nested(levels: int, leaf: Any) -> Any:
    """Return objects in objects."""
    value = leaf
    for _ in range(levels):
        value = {"a": value}
    return value


def test_deep_values() -> None:
    """Expect that every operation takes values as deep as a body may be."""
    levels = limits.MAX_DEPTH
    left, right = nested(levels, "x"), nested(levels, "y")

    fields = leaves(DEDUCED, left)
    assert field_set.parse(orjson.loads(written(fields))) == fields
    assert field_set.union(fields, everything(DEDUCED, left)) == field_set.union_all([everything(DEDUCED, left), fields])
    assert compare(DEDUCED, left, right).modified == field_set.difference(fields, everything(DEDUCED, nested(levels - 1, {})))
    assert merge(DEDUCED, left, right) == right
    assert remove(DEDUCED, left, fields) is None
    assert with_named_fields(DEDUCED, fields) == reconcile(DEDUCED, fields) == fields
    validation.check(DEDUCED, left)
