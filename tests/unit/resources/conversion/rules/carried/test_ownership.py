"""What a webhook restores: nothing that has lost its managers since it was carried."""

import copy
import json
from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.rules.building import build_rules
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.resources.conversion.rules.model import CARRIED
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.conversions import conversion, fields, items, widget

Fields = dict[str, Any]
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
SCHEMAS = {
    "v1": CompiledSchema(
        fields(
            spec=fields(
                note="string",
                a="integer",
                l=items(fields(name="string", x="string")) | KEYED,
                atomic=items(fields(name="string", x="string")),
            )
        )
    ),
    "v2": CompiledSchema(fields(spec=fields(a="integer", l=items(fields(name="string")) | KEYED, atomic=items(fields(name="string"))))),
}
SPEC = {"note": "N", "a": 1, "l": [{"name": "n", "x": "X"}], "atomic": [{"name": "n", "x": "Y"}]}
CREATED: Fields = {
    "f:spec": {
        ".": {},
        "f:note": {},
        "f:a": {},
        "f:l": {".": {}, 'k:{"name":"n"}': {".": {}, "f:name": {}, "f:x": {}}},
        "f:atomic": {},
    }
}
LEFT: Fields = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
"""What the manager of v1 has when all of the spec was removed."""
MADE: Fields = {"f:spec": {".": {}, "f:a": {}, "f:l": {".": {}, 'k:{"name":"n"}': {".": {}, "f:name": {}}}}}
CHANGED: Fields = {"f:spec": {"f:a": {}}}


def _managed(**found: Fields) -> list[Fields]:
    return [
        {"manager": version, "operation": "Update", "apiVersion": f"example.com/{version}", "fieldsType": "FieldsV1", "fieldsV1": fields}
        for version, fields in found.items()
    ]


def _webhook() -> RulesConverter:
    return build_rules("widgets.example.com", conversion(v1=[]), SCHEMAS, "v2", sees_writes=False).converter


def _stored(managers: list[Fields]) -> Object:
    return _webhook().convert_inline(widget("v1", copy.deepcopy(SPEC), managedFields=managers), "example.com/v2")


def _shown(stored: Object, managers: Any) -> Any:
    """Return what v1 shows when a stored object has these managers."""
    obj = copy.deepcopy(stored)
    obj["metadata"]["managedFields"] = managers
    if managers is None:
        del obj["metadata"]["managedFields"]
    return _webhook().convert_inline(obj, "example.com/v1")["spec"]


ENDED = {"a": 1, "l": [{"name": "n"}], "atomic": [{"name": "n", "x": "Y"}]}
"""Items of an atomic list have no managers of their own."""


@pytest.mark.parametrize(
    "managers, spec",
    [
        (_managed(v1=CREATED), SPEC),
        (_managed(v1=CREATED, v2=CHANGED), SPEC),
        # removed, and made anew
        (_managed(v1=LEFT, v2=MADE), ENDED),
        (_managed(v2=MADE), ENDED),
        # one of the two
        (_managed(v1={"f:spec": {"f:note": {}}}, v2=MADE), ENDED | {"note": "N"}),
        # removed by a client from managedFields, or moved to another version
        (None, SPEC),
        ([], SPEC),
        (_managed(v2=CHANGED), SPEC),
        (_managed(v2=CREATED), SPEC),
        # malformed
        ([5, {"fieldsV1": 5}, {"apiVersion": "example.com/v1"}], SPEC),
    ],
)
def test_what_lost_its_managers_is_gone(managers: Any, spec: Any) -> None:
    """Restore a field while someone manages it, and where nobody knows."""
    assert _shown(_stored(_managed(v1=CREATED)), managers) == spec


def test_what_never_had_a_manager_stays() -> None:
    """Restore what a mutating webhook has set, which has no manager, and what former versions of apiext have carried."""
    unowned = _stored(_managed(v1=CHANGED))
    former = _stored(_managed(v1=CREATED))
    carried = json.loads(former["metadata"]["annotations"][CARRIED])
    former["metadata"]["annotations"][CARRIED] = json.dumps({"v1": carried["v1"]})

    assert carried.keys() == {"v1", "v1/owned"}
    assert [_shown(stored, _managed(v1=LEFT, v2=MADE)) for stored in (unowned, former)] == [SPEC, SPEC]


def test_former_versions_read_the_annotation() -> None:
    """Give the entries the same form with and without owned fields, so that converters that see writes, and older ones, restore them."""
    sees_writes = build_rules("widgets.example.com", conversion(v1=[]), SCHEMAS, "v2").converter
    stored = _stored(_managed(v1=CREATED))

    shown = sees_writes.convert_inline(copy.deepcopy(stored), "example.com/v1")
    again = sees_writes.convert_inline(copy.deepcopy(shown), "example.com/v2")

    assert (shown["spec"], json.loads(again["metadata"]["annotations"][CARRIED]).keys()) == (SPEC, {"v1"})


def test_conversions_without_managers() -> None:
    """Know the owned fields after kube-apiserver has converted an object there and back without its managers, as in an apply."""
    found, stored = _webhook(), _stored(_managed(v1=CREATED))
    bare = copy.deepcopy(stored)
    del bare["metadata"]["managedFields"]
    returned = found.convert_inline(found.convert_inline(copy.deepcopy(bare), "example.com/v1"), "example.com/v2")

    assert returned == bare
    assert _shown(returned, _managed(v1=LEFT, v2=MADE)) == ENDED


@pytest.mark.parametrize("owned", [5, [5], [[]], [["spec", {}]], [["spec", 5]], [["nothing"]], [["spec", "note", "x"]]])
def test_hostile_owned_fields(owned: Any) -> None:
    """Ignore what no conversion has written."""
    stored = _stored(_managed(v1=CREATED))
    carried = json.loads(stored["metadata"]["annotations"][CARRIED])
    stored["metadata"]["annotations"][CARRIED] = json.dumps(carried | {"v1/owned": owned})

    assert _shown(stored, _managed(v1=LEFT, v2=MADE)) == SPEC
