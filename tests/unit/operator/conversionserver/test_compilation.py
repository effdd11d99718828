"""Converters from a CRD and its Conversion object."""

import copy
from typing import Any

import pytest

from apiext.operator.conversionserver.conversions import ObjectConverter, compile_conversion
from apiext.resources.conversion.interface import ConversionError
from hack.lib.conversions.gadgets import Json, gadget_crd, gadget_rules

GROUP = "convert.example.com"
OLD = {
    "size": 1,
    "region": "north",
    "image": "a:b:c",
    "mode": "fast",
    "tags": [{"name": "b", "value": "1"}, {"name": "a"}],
    "note": "carried",
}


def gadget(version: str, spec: Any, **metadata: Any) -> Json:
    """Return an object."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Gadget", "metadata": {"name": "g", **metadata}, "spec": copy.deepcopy(spec)}


def _converter(crd: Json, conversion: Json) -> ObjectConverter:
    made = compile_conversion(crd, conversion, in_use=False)
    assert (made.problem, made.converts) == ("", True)
    return made.converter


def test_converts_there_and_back() -> None:
    """Convert by the rules, carry what they lose, and give the same object again."""
    converter = _converter(gadget_crd(GROUP), gadget_rules(GROUP))

    there = converter.convert_inline(gadget("v1", OLD), f"{GROUP}/v2")
    spec = copy.deepcopy(there["spec"])
    back = converter.convert_inline(there, f"{GROUP}/v1")

    assert spec == {
        "capacity": 1,
        "placement": {"region": "north"},
        "repository": "a:b",
        "tag": "c",
        "mode": "Fast",
        "tags": {"b": "1"},
    }
    assert back == gadget("v1", OLD)


def test_prunes_what_the_schema_has_lost() -> None:
    """Drop fields that are stored and no longer in the schema, as kube-apiserver does when it reads them."""
    converter = _converter(gadget_crd(GROUP), gadget_rules(GROUP))

    there = converter.convert_inline(gadget("v1", {"size": 1, "gone": {"a": 1}}), f"{GROUP}/v2")

    assert there == gadget("v2", {"capacity": 1})


def test_refuses_an_unknown_version() -> None:
    """Refuse an object of a version that the CRD does not have."""
    converter = _converter(gadget_crd(GROUP), gadget_rules(GROUP))

    with pytest.raises(ConversionError, match="the CRD has no version v0"):
        converter.convert_inline(gadget("v0", {}), f"{GROUP}/v2")


def _with(spec: Json) -> Json:
    return {**gadget_rules(GROUP), "spec": {**gadget_rules(GROUP)["spec"], **spec}}


REFUSED = {
    "form": (_with({"spokes": [{"version": "v1", "rules": [{"rename": {"path": "spec.size"}}]}]}), "spec.spokes"),
    "hub": (_with({"hub": "v9"}), "v9"),
    "missing version": (_with({"spokes": []}), "v1"),
}


@pytest.mark.parametrize("conversion, text", REFUSED.values(), ids=REFUSED)
def test_rules_with_a_problem_do_not_begin_to_convert(conversion: Json, text: str) -> None:
    """Refuse all objects, and say what does not fit the CRD."""
    made = compile_conversion(gadget_crd(GROUP), conversion, in_use=False)

    assert not made.converts
    assert text in made.problem
    with pytest.raises(ConversionError, match=f"the Conversion gadgets.{GROUP} is invalid: .*{text}"):
        made.converter.convert_inline(gadget("v1", {"size": 1}), f"{GROUP}/v2")


def _demanding_crd() -> Json:
    """Return a CRD whose hub has a required field that no rule sets, and another version without rules."""
    crd = gadget_crd(GROUP)
    crd["spec"]["versions"].append({**copy.deepcopy(crd["spec"]["versions"][0]), "name": "v3"})
    spec = crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec |= {"required": ["capacity", "needed"], "properties": {**spec["properties"], "needed": {"type": "string"}}}
    return crd


def test_rules_in_use_go_on() -> None:
    """Convert by rules that are in use, as far as they can be compiled, beside the problems that the check finds."""
    crd, rules = _demanding_crd(), gadget_rules(GROUP)
    made, refused = (compile_conversion(crd, rules, in_use=in_use) for in_use in (True, False))

    assert (made.converts, refused.converts, "needed" in made.problem) == (True, False, True)
    assert made.problem == refused.problem
    assert made.converter.convert_inline(gadget("v1", {"size": 1}), f"{GROUP}/v2") == gadget("v2", {"capacity": 1})
    with pytest.raises(ConversionError, match="has no rules for version v3"):
        made.converter.convert_inline(gadget("v1", {"size": 1}), f"{GROUP}/v3")
