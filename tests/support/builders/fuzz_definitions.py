"""Hypothesis strategies for almost valid definitions."""

from typing import Any, Final

from hypothesis import strategies as st

from tests.support.builders.fuzz import VALUES, some

_KEYWORDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "type": st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "x", ""]),
    "format": st.sampled_from(["int32", "int64", "date-time", "byte", "uuid", "x"]),
    "pattern": st.sampled_from(["^a+$", "(", "(?=a)", "\\1", "a{1001}", "[[:alpha:]]", "\\pL", "(?P<x>a)"]),
    "enum": st.lists(VALUES, max_size=3),
    "default": VALUES,
    "minimum": st.integers(-9, 9) | VALUES,
    "maximum": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "exclusiveMinimum": st.booleans(),
    "multipleOf": st.sampled_from([0, -1, 0.1, 3]),
    "minLength": st.integers(-1, 3),
    "maxItems": st.integers(-1, 3),
    "uniqueItems": st.booleans(),
    "nullable": st.booleans(),
    "required": st.lists(st.sampled_from(["a", "b", ""]), max_size=3) | VALUES,
    "x-kubernetes-preserve-unknown-fields": st.booleans(),
    "x-kubernetes-embedded-resource": st.booleans(),
    "x-kubernetes-int-or-string": st.booleans(),
    "x-kubernetes-list-type": st.sampled_from(["atomic", "set", "map", "x"]),
    "x-kubernetes-list-map-keys": st.lists(st.sampled_from(["a", "b"]), max_size=2),
    "x-kubernetes-map-type": st.sampled_from(["atomic", "granular", "x"]),
    "x-kubernetes-validations": st.lists(st.fixed_dictionaries({"rule": st.sampled_from(["true", "self.a", ")(", ""])}), max_size=2),
    "$ref": st.just("#/x"),
    "id": st.just("x"),
    "description": st.text(max_size=5),
    "unknownKeyword": VALUES,
}


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from(["a", "b", "metadata", "spec", "kind", "", "é", "a.b/c"]), inner, max_size=3)
    nesting: dict[str, st.SearchStrategy[Any]] = {
        "properties": members,
        "items": inner | st.lists(inner, max_size=2),
        "additionalProperties": inner | st.booleans(),
        "not": inner,
        **{junctor: st.lists(inner, max_size=2) for junctor in ("allOf", "anyOf", "oneOf")},
    }
    return st.fixed_dictionaries({}, optional=nesting | {name: _KEYWORDS[name] for name in ("type", "nullable", "default", "required")})


_LEAVES: Final = st.dictionaries(st.sampled_from(sorted(_KEYWORDS)), st.none(), max_size=4).flatmap(
    lambda chosen: st.fixed_dictionaries({name: _KEYWORDS[name] for name in chosen})
)
_PLAIN: Final = st.sampled_from(
    [
        {"type": "string", "default": "x"},
        {"type": "integer", "minimum": 0, "default": 3},
        {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"x-kubernetes-int-or-string": True},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    ]
)
SCHEMAS: Final = st.recursive(_LEAVES | _PLAIN | _PLAIN | _PLAIN, _nested, max_leaves=8)
"""Schemas with keywords of every kind, with valid and invalid values."""

_OBJECTS: Final = st.dictionaries(st.sampled_from(["spec", "status", "a", "b"]), st.one_of([_PLAIN] * 6 + [SCHEMAS]), max_size=4).map(
    lambda properties: {"type": "object", "properties": properties}
)


def definitions(group: str) -> st.SearchStrategy[dict[str, Any]]:
    """Generate definitions of a group, many of them valid."""
    schemas = (_OBJECTS | _OBJECTS | _OBJECTS | SCHEMAS).map(lambda schema: {"openAPIV3Schema": schema})
    columns = st.fixed_dictionaries(
        {"name": st.just("A"), "type": st.sampled_from(["string", "date", "integer", "string", "x"])},
        optional={
            "jsonPath": st.sampled_from([".spec", ".a[*]", ".a[?(@.b==1)]", "{", "..", ".x['y']"]),
            "priority": st.integers() | VALUES,
        },
    )
    scale = {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.b"}
    changes = some(
        {
            "name": st.sampled_from(["v2", "V!", ""]),
            "served": st.booleans() | VALUES,
            "storage": st.booleans() | VALUES,
            "schema": VALUES,
            "subresources": st.sampled_from([{}, {"status": {}}, {"scale": scale}]) | VALUES,
            "additionalPrinterColumns": st.lists(columns, max_size=2),
            "selectableFields": st.sampled_from([[{"jsonPath": ".spec.a"}], [{"jsonPath": ""}], [], 1]),
            "deprecated": st.booleans() | VALUES,
        },
        most=1,
    )
    version = st.builds(lambda schema, change: {"name": "v1", "served": True, "storage": True, "schema": schema} | change, schemas, changes)
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    right = version.map(lambda one: {"group": group, "names": names, "scope": "Cluster", "versions": [one]})
    wrong = some(
        {
            "names": st.fixed_dictionaries({}, optional=dict.fromkeys(names, VALUES)),
            "scope": st.sampled_from(["Namespaced", "x", ""]),
            "versions": st.lists(version, max_size=2) | VALUES,
            "conversion": st.sampled_from([{"strategy": "None"}, {"strategy": "Webhook"}, {}]) | VALUES,
            "preserveUnknownFields": st.booleans(),
        },
        most=1,
    )
    spec = right | st.builds(lambda one, other: one | other, right, wrong)
    return st.fixed_dictionaries({"spec": spec}, optional={"unknown": VALUES}).map(
        lambda drawn: (
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"things.{group}"}} | drawn
        )
    )
