"""What an object of the storage version carries when it is written: only what its conversion would restore."""

import copy
import json
from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.building import build_rules
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.resources.conversion.rules.model import CARRIED
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.conversions import conversion, fields, items, widget
from tests.support.conversion_rules import converter

OLD = fields(
    spec=fields(note="string", size="integer", l=items(fields(name="string", x="string")), bare=items(fields(c="integer", x="string")))
)
NEW = fields(spec=fields(size="integer", capacity="integer", l=items(fields(name="string")), bare=items(fields(c="integer"))))
Rules = list[dict[str, Any]]


def _converter(*rules: dict[str, Any]) -> RulesConverter:
    schemas = {"v1": CompiledSchema(OLD), "v2": CompiledSchema(NEW)}
    return build_rules("widgets.example.com", conversion(v1=list(rules)), schemas, "v2").converter


def _stored(found: RulesConverter, spec: Any) -> Object:
    """Return an object of v1 as it is stored in v2."""
    return found.convert_inline(widget("v1", copy.deepcopy(spec)), "example.com/v2")


def _written(found: RulesConverter, stored: Object, *specs: Any) -> Any:
    """Return what v1 shows of the spec after writes in v2; None removes the spec."""
    for spec in specs:
        stored = {**stored, "metadata": dict(stored["metadata"]), "spec": spec}
        if spec is None:
            del stored["spec"]
        found.settle(stored)
    return found.convert_inline(copy.deepcopy(stored), "example.com/v1").get("spec")


def _text(obj: Object) -> str | None:
    text: str | None = obj["metadata"].get("annotations", {}).get(CARRIED)
    return text


@pytest.mark.parametrize(
    "spec, specs",
    [
        ({"l": [{"name": "n1", "x": "X1"}]}, [{"l": []}, {"l": [{"name": "n1"}]}]),
        ({"l": [{"name": "n1", "x": "X1"}]}, [{}, {"l": [{"name": "n1"}]}]),
        ({"note": "N", "size": 1}, [None, {"size": 1}]),
        ({"bare": [{"c": 1, "x": "X"}, {"c": 2}]}, [{"bare": [{"c": 2}]}, {"bare": [{"c": 1}, {"c": 2}]}]),
    ],
)
def test_what_is_made_anew_has_nothing_of_the_former_one(spec: Any, specs: list[Any]) -> None:
    """Restore nothing in a place that a write has removed and a later one makes again."""
    found = _converter()

    assert _written(found, _stored(found, spec), *specs) == specs[-1]


def test_what_stays_keeps_what_it_carries() -> None:
    """Drop the entries of removed places only, of items without keys and of the order, too, and keep the text where nothing is dropped."""
    found = _converter()
    stored = _stored(found, {"note": "N", "bare": [{"c": 1, "x": "A"}, {"c": 2, "x": "B"}], "l": [{"name": "n1", "x": "C"}]})
    text = _text(stored)
    same = copy.deepcopy(stored)
    same["spec"]["size"] = 5
    found.settle(same)
    shown = _written(found, stored, {"bare": [{"c": 2}]}, {"bare": [{"c": 1}, {"c": 2}], "l": [{"name": "n1"}]})

    assert _text(same) == text
    assert shown == {"note": "N", "bare": [{"c": 1}, {"c": 2, "x": "B"}], "l": [{"name": "n1"}]}


def test_no_annotation_is_left_without_entries() -> None:
    """Remove the annotation with the last entry, and keep the others."""
    found = _converter()
    stored = _stored(found, {"note": "N"})
    stored["metadata"]["annotations"]["own"] = "1"
    del stored["spec"]
    found.settle(stored)

    assert stored["metadata"]["annotations"] == {"own": "1"}


def test_after_a_change_of_the_rules() -> None:
    """Drop what former rules carried once new rules give the field a value, so that it does not return when that is removed."""
    stored = _stored(_converter(), {"size": 1, "note": "N"})
    del stored["spec"]["size"]
    stored["metadata"]["annotations"] = {CARRIED: '{"v1":[["f",["spec","size"],"",1]]}'}
    changed = _converter({"rename": {"path": "spec.size", "to": "capacity"}})

    assert _written(changed, stored) == {"size": 1}
    assert _written(changed, stored, {"capacity": 2}, {}) == {}


def test_what_cannot_be_judged_stays() -> None:
    """Keep entries for versions that the CRD lacks now, and for those to which the object cannot be converted as it is."""

    def refused(obj: Object) -> bool:
        if "bad" in obj["spec"]:
            raise ConversionError("no way")
        return False

    found = converter({("v2", "v1"): refused, ("v1", "v2"): lambda _: False, ("v2", "v3"): lambda _: False, ("v3", "v2"): lambda _: False})
    entries = {version: [["f", ["spec", "sub", "x"], "", 1]] for version in ("v1", "v3", "v9")}
    stored = widget("v2", {"bad": 1}, annotations={CARRIED: json.dumps(entries)})
    found.settle(stored)

    assert json.loads(_text(stored) or "").keys() == {"v1", "v9"}


def test_third_versions_and_a_storage_version_that_is_a_spoke() -> None:
    """Drop what is carried for another version when a write in a third one removes its place, and judge it by way of the hub."""
    schemas = {name: CompiledSchema(fields(spec=fields(sub=fields(a="integer", **{name: "string"})))) for name in ("v1", "v2", "v3", "v4")}
    rules = conversion("v2", v1=[], v3=[], v4=[])
    found = build_rules("widgets.example.com", rules, schemas, "v3").converter
    obj = stored = widget("v1", {"sub": {"a": 1, "v1": "A"}})
    for version, spec in (
        ("v4", {"sub": {"a": 2, "v4": "D"}}),
        ("v2", {"sub": {"a": 3, "v2": "B"}}),
        ("v4", {}),
        ("v2", {"sub": {"a": 1}}),
    ):
        obj = found.convert_inline(found.convert_inline(obj, "example.com/v3"), f"example.com/{version}") | {"spec": spec}
        stored = found.convert_inline(copy.deepcopy(obj), "example.com/v3")

    assert _text(stored) is None
