"""Converters from a CRD and its Conversion object."""

import copy
from typing import Any

import pytest

from apiext.conversion.interface import ConversionError
from apiext.conversionserver.compilation import PruningConverter, rules_converter
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


def _converter(crd: Json, conversion: Json) -> PruningConverter:
    converter, problem = rules_converter(crd, conversion)
    assert problem == ""
    assert converter is not None
    return converter


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


UNCOMPILED = {
    "form": (_with({"spokes": [{"version": "v1", "rules": [{"rename": {"path": "spec.size"}}]}]}), "spec.spokes"),
    "hub": (_with({"hub": "v9"}), "v9"),
    "missing version": (_with({"spokes": []}), "v1"),
}


@pytest.mark.parametrize("conversion, text", UNCOMPILED.values(), ids=UNCOMPILED)
def test_says_why_rules_cannot_be_compiled(conversion: Json, text: str) -> None:
    """Return no converter, and say what does not fit the CRD."""
    converter, problem = rules_converter(gadget_crd(GROUP), conversion)

    assert converter is None
    assert text in problem


def test_converts_by_rules_with_a_problem() -> None:
    """Return a converter for rules that can be compiled, beside the problem that the check finds."""
    crd = gadget_crd(GROUP)
    crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"] |= {"required": ["capacity", "needed"]}
    crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] |= {"needed": {"type": "string"}}

    converter, problem = rules_converter(crd, gadget_rules(GROUP))

    assert converter is not None
    assert converter.convert_inline(gadget("v1", {"size": 1}), f"{GROUP}/v2") == gadget("v2", {"capacity": 1})
    assert "needed" in problem
