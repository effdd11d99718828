"""Configurations that managers applied."""

from typing import Any, Final

import pytest

from apiext.resources.evaluation.applied_configuration import applied_configuration
from apiext.resources.managedfields.structural_types import from_schema
from apiext.schema.model import Structural
from tests.support.builders.definition_pairs import ANY, INTEGER, KEYED, STRING, mapping, root, several, struct

PORTS: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]}
TCP: Final = 'k:{"port":80,"protocol":"TCP"}'
TYPE: Final = from_schema(
    Structural(
        root(
            host=STRING,
            map=mapping(INTEGER),
            keyed=several(struct(name=STRING, size=INTEGER), **KEYED),
            set=several(STRING, **{"x-kubernetes-list-type": "set"}),
            atomic=several(STRING),
            ports=several(struct(port=INTEGER, protocol=STRING | {"default": "TCP"}), **PORTS),
            one=struct(mode=STRING | {"default": "x"}, deep=struct(mode=STRING | {"default": "x"}) | {"default": {}})
            | {"x-kubernetes-map-type": "atomic"},
            any={"type": "object"} | ANY,
        )
    )
)
OBJECT: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "default", "labels": {"x": "1", "y": "2"}, "uid": "1"},
    "spec": {
        "host": "h",
        "map": {"a": 1, "b": 2},
        "keyed": [{"name": "p", "size": 1}, {"name": "q", "size": 2}],
        "set": ["s", "t"],
        "atomic": ["u"],
        "ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP"}],
        "one": {"mode": "y", "deep": {"mode": "x"}},
        "any": {"deep": {"er": 1}, "other": 2},
    },
}


@pytest.mark.parametrize(
    "fields, spec",
    [
        ({"f:host": {}}, {"host": "h"}),
        ({"f:map": {".": {}, "f:a": {}}}, {"map": {"a": 1}}),
        ({"f:map": {}}, {"map": {}}),
        ({"f:keyed": {'k:{"name":"q"}': {".": {}, "f:name": {}}}}, {"keyed": [{"name": "q"}]}),
        ({"f:keyed": {'k:{"name":"q"}': {"f:size": {}}}}, {"keyed": [{"name": "q", "size": 2}]}),
        ({"f:set": {'v:"t"': {}}}, {"set": ["t"]}),
        ({"f:atomic": {}}, {"atomic": ["u"]}),
        ({"f:ports": {TCP: {".": {}, "f:port": {}}}}, {"ports": [{"port": 80}]}),
        ({"f:ports": {TCP: {"f:protocol": {}}}}, {"ports": [{"port": 80, "protocol": "TCP"}]}),
        ({"f:ports": {'k:{"port":80,"protocol":"UDP"}': {".": {}}}}, {"ports": [{"port": 80, "protocol": "UDP"}]}),
        ({"f:one": {}}, {"one": {"mode": "y"}}),
        ({"f:any": {"f:deep": {"f:er": {}}}}, {"any": {"deep": {"er": 1}}}),
        ({"f:gone": {}}, {}),
    ],
)
def test_a_configuration_has_the_fields_of_its_manager(fields: dict[str, Any], spec: dict[str, Any]) -> None:
    """Take the fields of a set from an object, with the keys of items, and without defaults that the set does not have."""
    found = applied_configuration(TYPE, OBJECT, {"f:spec": fields, "f:metadata": {"f:labels": {"f:x": {}}}})

    assert found == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default", "labels": {"x": "1"}},
        "spec": spec,
    }
