"""Conversion by rules: what a version cannot hold is carried, and returns."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork, current_work
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.metrics import RulesStats
from apiext.resources.conversion.rules.building import build_rules
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.resources.conversion.rules.declared_losses import DeclaredLosses
from apiext.resources.conversion.rules.model import CARRIED, ConversionRules, Drop, Side, Spoke
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.conversions import conversion
from tests.support.conversion_rules import ANY_FIELDS, Change, converter, scrambling

Spec = dict[str, Any]


def _object(version: str, spec: Any = None, **metadata: Any) -> Object:
    obj: Object = {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": "a", "namespace": "default"} | metadata}
    return obj if spec is None else obj | {"spec": spec}


def _to(found: RulesConverter, obj: Object, version: str) -> Object:
    return found.convert_inline(copy.deepcopy(obj), f"example.com/{version}")


def _carried(obj: Object) -> str | None:
    text: str | None = obj["metadata"].get("annotations", {}).get(CARRIED)
    return text


def _without(*names: str) -> Change:
    """Return a transformation that drops fields of spec."""

    def change(obj: Object) -> bool:
        for name in names:
            obj["spec"].pop(name, None)
        return False

    return change


def _exact(_obj: Object) -> bool:
    return True


def _lossy(*names: str) -> RulesConverter:
    """Return a converter between v2 and v1, which lacks fields of v2."""
    return converter({("v2", "v1"): _without(*names), ("v1", "v2"): lambda obj: not obj})


# --- the law ----------------------------------------------------------------------------------------------------------

_NAMES = st.sampled_from(["name", "key", "a", "b", "c", "d"])
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "y", "1"]), st.floats(0.25, 2, width=16)),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(_NAMES, below, max_size=4)),
    max_leaves=16,
)


@settings(max_examples=150, deadline=None)
@given(spec=st.dictionaries(_NAMES, _VALUES, max_size=4), seeds=st.tuples(st.text("ab", max_size=3), st.text("ab", max_size=3)))
def test_there_and_back_is_the_same(spec: Spec, seeds: tuple[str, str]) -> None:
    """Give an equal object after a conversion there and back, whatever the rules do, and the same carriers from then on."""
    found = converter({("v1", "v2"): scrambling(seeds[0]), ("v2", "v1"): scrambling(seeds[1])})
    original = _object("v1", spec)

    there = _to(found, original, "v2")
    back = _to(found, there, "v1")
    again = _to(found, back, "v2")

    assert back | {"metadata": original["metadata"]} == original
    assert again == there
    assert _to(found, again, "v1") == back


@settings(max_examples=75, deadline=None)
@given(spec=st.dictionaries(_NAMES, _VALUES, max_size=4), seeds=st.lists(st.text("ab", max_size=3), min_size=4, max_size=4))
def test_three_versions(spec: Spec, seeds: list[str]) -> None:
    """Carry what either of two versions has through the storage version."""
    pairs = [("v1", "v2"), ("v2", "v1"), ("v3", "v2"), ("v2", "v3")]
    found = converter({pair: scrambling(seed) for pair, seed in zip(pairs, seeds, strict=True)})
    stored = _to(found, _object("v1", spec), "v2")

    third = _to(found, stored, "v3")
    returned = _to(found, _to(found, third, "v2"), "v1")

    assert returned["spec"] == spec


# --- what is carried --------------------------------------------------------------------------------------------------


def test_nothing_to_carry() -> None:
    """Leave objects without anything to carry without an annotation, also where rules might have lost something."""
    exact = converter({("v2", "v1"): _exact, ("v1", "v2"): _exact})

    assert _to(exact, _object("v2", {"a": 1}), "v1") == _object("v1", {"a": 1})
    assert _to(_lossy("b"), _object("v2", {"a": 1}), "v1") == _object("v1", {"a": 1})


def test_converters_are_inline() -> None:
    """Convert without waiting, so that codecs need no task switch."""
    assert _lossy().is_inline


def test_the_annotation_is_readable() -> None:
    """Write small carriers as JSON with sorted keys."""
    found = _to(_lossy("b", "c"), _object("v2", {"c": [1], "b": {"x": 1}}, annotations={"own": "1"}), "v1")

    assert found["metadata"]["annotations"] == {"own": "1", CARRIED: '{"v2":[["f",["spec","b"],"",{"x":1}],["f",["spec","c"],"",[1]]]}'}
    assert found["spec"] == {}


def test_old_clients_keep_what_they_never_saw() -> None:
    """Restore fields that nobody changed, and drop those that were bound to what a client changed."""
    found = _lossy("b", "c")

    def truncated(obj: Object) -> bool:
        obj["spec"].pop("b", None)
        obj["spec"]["text"] = obj["spec"]["text"][:1]
        return False

    found = converter({("v2", "v1"): truncated, ("v1", "v2"): lambda _: False})
    old = _to(found, _object("v2", {"text": "long", "b": 1}), "v1")
    old["spec"]["text"] = "x"

    assert _to(found, old, "v2")["spec"] == {"text": "x", "b": 1}


def test_removed_objects_are_not_resurrected() -> None:
    """Do not restore fields of an object that a client removed."""

    def less(obj: Object) -> bool:
        obj["spec"].get("sub", {}).pop("b", None)
        return False

    found = converter({("v2", "v1"): less, ("v1", "v2"): lambda _: False})
    old = _to(found, _object("v2", {"sub": {"a": 1, "b": 2}}), "v1")
    del old["spec"]["sub"]

    assert _to(found, old, "v2")["spec"] == {}


def _less_in_items(obj: Object) -> bool:
    for item in obj["spec"]["list"]:
        item.pop("b", None)
    return False


_ITEMS = converter({("v2", "v1"): _less_in_items, ("v1", "v2"): lambda _: False})


@pytest.mark.parametrize(
    "items, changed, returned",
    [
        # a name identifies an item wherever it is, and whatever else changed
        ([{"name": "x", "b": 1}, {"name": "y", "b": 2}], [{"name": "y", "a": 0}], [{"name": "y", "a": 0, "b": 2}]),
        # without a name, an unchanged item is found
        ([{"p": 1, "b": 1}, {"p": 2, "b": 2}], [{"p": 2}, {"p": 1}], [{"p": 2, "b": 2}, {"p": 1, "b": 1}]),
        ([{"p": 1, "b": 1}, {"p": 2, "b": 2}], [{"p": 3}, {"p": 2}], [{"p": 3}, {"p": 2, "b": 2}]),
        # items that look alike are told apart only while all are there
        ([{"p": 1, "b": 1}, {"p": 1, "b": 2}], [{"p": 1}, {"p": 1}], [{"p": 1, "b": 1}, {"p": 1, "b": 2}]),
        ([{"p": 1, "b": 1}, {"p": 1, "b": 2}], [{"p": 1}], [{"p": 1}]),
        # a renamed key is another item
        ([{"name": "x", "b": 1}], [{"name": "z"}], [{"name": "z"}]),
    ],
)
def test_items(items: list[Any], changed: list[Any], returned: list[Any]) -> None:
    """Restore fields of items that a client of the old version moved, removed or changed."""
    old = _to(_ITEMS, _object("v2", {"list": items}), "v1")
    old["spec"]["list"] = changed

    assert _to(_ITEMS, old, "v2")["spec"] == {"list": returned}


def test_declared_keys() -> None:
    """Identify items by the keys that the schema declares, renamed by the rules."""
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"], "type": "array"}
    fields = {name: {"type": "integer"} for name in ("port", "number", "b")}
    spec = {"type": "object", "properties": {"list": keyed | {"items": {"type": "object", "properties": fields}}}}

    def renamed(old: str, new: str) -> Change:
        def change(obj: Object) -> bool:
            obj["spec"]["list"] = [{new: item[old]} for item in obj["spec"]["list"]]
            return False

        return change

    found = converter({("v2", "v1"): renamed("port", "number"), ("v1", "v2"): renamed("number", "port")}, {"v1": spec, "v2": spec})
    old = _to(found, _object("v2", {"list": [{"port": 1, "b": 1}, {"port": 2, "b": 2}]}), "v1")
    old["spec"]["list"] = [{"number": 2}, {"number": 7}]

    assert _to(found, old, "v2")["spec"]["list"] == [{"port": 2, "b": 2}, {"port": 7}]


def test_order_returns_until_the_list_changes() -> None:
    """Restore the order of a list that rules sort; a changed list keeps its own."""

    def ordered(obj: Object) -> bool:
        obj["spec"]["list"] = sorted(obj["spec"]["list"])
        return False

    found = converter({("v2", "v1"): ordered, ("v1", "v2"): lambda _: False})
    old = _to(found, _object("v2", {"list": ["c", "a", "b"]}), "v1")
    more = copy.deepcopy(old)
    more["spec"]["list"].append("d")

    assert old["spec"]["list"] == ["a", "b", "c"]
    assert _to(found, old, "v2")["spec"]["list"] == ["c", "a", "b"]
    assert _to(found, more, "v2")["spec"]["list"] == ["a", "b", "c", "d"]


def test_labels_and_annotations() -> None:
    """Carry labels and annotations that rules change."""

    def less(obj: Object) -> bool:
        del obj["metadata"]["labels"]
        obj["metadata"]["annotations"]["y"] = "changed"
        return False

    found = converter({("v2", "v1"): less, ("v1", "v2"): lambda _: False})
    original = _object("v2", {}, labels={"a": "1"}, annotations={"y": "own"})

    assert _to(found, _to(found, original, "v1"), "v2") == original


def test_declared_losses_are_not_carried() -> None:
    """Carry no field that a rule drops on purpose."""
    drop = ConversionRules("widgets.example.com", "v2", (Spoke("v1", (Drop(("spec", "b"), "unused", Side.HUB),)),))
    found = converter({("v2", "v1"): _without("b"), ("v1", "v2"): lambda _: False}, rules=drop)

    assert _to(found, _object("v2", {"a": 1, "b": 2}), "v1") == _object("v1", {"a": 1})


# --- limits -----------------------------------------------------------------------------------------------------------


def _large() -> str:
    import random

    return random.Random(0).randbytes(70_000).hex()  # noqa: S311 a text that cannot be compressed


def test_a_large_carrier_refuses_the_write() -> None:
    """Refuse to convert an object to the storage version if more is lost than can be carried; say what to do."""
    found = converter({("v1", "v2"): _without("b"), ("v2", "v1"): lambda _: False})

    with pytest.raises(ConversionError) as error:
        _to(found, _object("v1", {"b": _large()}), "v2")

    assert str(error.value).startswith(
        "conversion widgets.example.com cannot convert Widget 'default/a' to version v2: what only version v1 has"
    )
    assert "at most 65536 can be carried. Shorten it, convert it by rules, or declare its loss by a drop rule" in str(error.value)


def test_a_large_carrier_is_readable_but_does_not_return() -> None:
    """Read an object that has too much to carry at another version, and refuse to write it there."""
    found = _lossy("b")
    old = _to(found, _object("v2", {"a": 1, "b": _large()}), "v1")

    assert old["spec"] == {"a": 1}
    assert _carried(old) == '{"v2":"too large"}'
    with pytest.raises(ConversionError, match="in version v2 it has more than the annotation can carry, and would lose it"):
        _to(found, old, "v2")


def test_large_carriers_are_compressed() -> None:
    """Compress what is long."""
    found = _lossy("b")
    original = _object("v2", {"b": ["text"] * 2000})
    old = _to(found, original, "v1")

    assert (_carried(old) or "").startswith("z1:")
    assert len(_carried(old) or "") < 200
    assert _to(found, old, "v2") == original


def _no_way(_obj: Object) -> bool:
    raise ConversionError("no integer")


def test_no_way_back() -> None:
    """Refuse to store an object that cannot be converted back; let it be read, and refuse its return."""
    found = converter({("v1", "v2"): lambda _: False, ("v2", "v1"): _no_way, ("v3", "v2"): _no_way, ("v2", "v3"): lambda _: False})

    with pytest.raises(ConversionError, match="the rules cannot convert it back: no integer"):
        _to(found, _object("v1", {}), "v2")
    old = _to(found, _object("v2", {}), "v3")
    assert _carried(old) == '{"v2":"irreversible"}'
    with pytest.raises(ConversionError, match="in version v2 it has what the rules cannot convert back"):
        _to(found, old, "v2")


async def test_errors_stand_for_their_objects() -> None:
    """Give the errors of objects that cannot be converted in their places."""
    found = converter({("v1", "v2"): _without("b"), ("v2", "v1"): lambda _: False})

    first, second = await found.convert([_object("v1", {"b": _large()}), _object("v1", {})], "example.com/v2")

    assert isinstance(first, ConversionError)
    assert second == _object("v2", {})


def test_empty_objects() -> None:
    """Convert objects without members by their name only."""
    obj = {"apiVersion": "example.com/v1", "kind": "Widget"}

    assert _to(_lossy(), obj, "v2") == obj | {"apiVersion": "example.com/v2"}


def test_changed_rules() -> None:
    """Under other rules, restore only what is bound to what these rules make of the object."""
    before = converter({("v2", "v1"): _without("b"), ("v1", "v2"): lambda _: False})

    def with_b(obj: Object) -> bool:
        obj["spec"]["b"] = "made"
        return False

    after = converter({("v2", "v1"): _without("b"), ("v1", "v2"): with_b})
    old = _to(before, _object("v2", {"a": 1, "b": 2}), "v1")

    assert _to(after, old, "v2")["spec"] == {"a": 1, "b": "made"}


def test_a_conversion_that_begins_again_counts_once() -> None:
    """Count conversions by their outcome, but not one that takes too long for the event loop: it begins again elsewhere."""

    def heavy(_obj: Object) -> bool:
        if current_work().is_limited:
            raise HeavyWorkError
        return True

    def failing(_obj: Object) -> bool:
        raise ConversionError("no")

    stats = RulesStats()
    found = converter({("v1", "v2"): heavy, ("v2", "v1"): failing}, stats=stats)
    with InlineWork(), pytest.raises(HeavyWorkError):
        _to(found, _object("v1"), "v2")
    _to(found, _object("v1"), "v2")
    with pytest.raises(ConversionError):
        _to(found, _object("v2"), "v1")

    counts = {key[1:]: histogram.count for key, histogram in stats.conversions.items()}
    assert counts == {("v1", "v2", "true"): 1, ("v2", "v1", "false"): 1}


def test_carried_fields_under_new_rules() -> None:
    """Show what an object carries as before when rules come to convert it, and convert it by them once it changes."""
    fields = {"v1": {"a": {"type": "string"}}, "v2": {"b": {"type": "string"}}}
    specs = {version: {"type": "object", "properties": found} for version, found in fields.items()}
    schemas = {version: CompiledSchema({"type": "object", "properties": {"spec": spec}}) for version, spec in specs.items()}
    before, after = (
        build_rules("widgets.example.com", conversion(v1=rules), schemas, "v2").converter
        for rules in ([], [{"rename": {"path": "spec.a", "to": "b"}}])
    )
    stored = _to(before, _object("v1", {"a": "x"}), "v2")

    read = _to(after, stored, "v1")
    rewritten = _to(after, read, "v2")
    changed = _to(after, read | {"spec": {"a": "y"}}, "v2")

    assert (stored["spec"], read["spec"], rewritten, changed["spec"]) == ({}, {"a": "x"}, stored, {"b": "y"})


def test_what_becomes_too_deep_fails() -> None:
    """Fail like other conversions, with the name of the object, where rules that no check has stopped nest a value too deeply."""
    wrapping = parse_rules(conversion(v1=[{"wrap": {"path": "spec.a", "field": "x"}}] * 1000))
    fields = {"v1": {"a": ANY_FIELDS, "b": ANY_FIELDS}, "v2": {"a": ANY_FIELDS}}
    specs = {version: {"type": "object", "properties": found} for version, found in fields.items()}
    schemas = {version: CompiledSchema({"type": "object", "properties": {"spec": spec}}) for version, spec in specs.items()}
    found = RulesConverter(compile_rules(wrapping, schemas), DeclaredLosses(wrapping), schemas, "v2", "widgets.example.com")

    with pytest.raises(ConversionError, match="cannot convert Widget 'default/a' to version v2: it becomes nested too deeply"):
        _to(found, _object("v1", {"a": {}, "b": {}}), "v2")
