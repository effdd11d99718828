"""The CRD of Conversion objects, made from their JSON Schema."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.conversion.rules.model import DEFINITION, GROUP, KIND, PLURAL
from apiext.resources.conversion.rules.parsing.document_schema import MAX_RULES
from apiext.schema.model import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object

_MAX_REPORTED: Final = 256
_LEFT_OUT: Final = ("$ref", "$comment", "additionalProperties", "properties", "items", "const")
_ANY: Final = {"x-kubernetes-preserve-unknown-fields": True}
_SCALAR: Final = _ANY | {"maxProperties": 0, "maxItems": 0, "not": {"enum": [{}, []]}}
"""A structural schema cannot say that a value has one of several types, but that it is neither an object nor a list."""
_TEXT: Final = {"type": "string"}
_COLUMNS: Final = (
    ("Hub", "string", ".spec.hub"),
    ("Valid", "string", '.status.conditions[?(@.type=="Valid")].status'),
    ("In Use", "string", '.status.conditions[?(@.type=="InUse")].status'),
    ("Problem", "string", ".status.problems[0].message"),
    ("Age", "date", ".metadata.creationTimestamp"),
)


def conversion_definition() -> Object:
    """Return the CustomResourceDefinition of Conversion objects."""
    singular = KIND.lower()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": DEFINITION},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": PLURAL, "singular": singular, "kind": KIND, "listKind": f"{KIND}List"},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [{"name": name, "type": kind, "jsonPath": path} for name, kind, path in _COLUMNS],
                    "schema": {"openAPIV3Schema": _schema()},
                }
            ],
        },
    }


def _schema() -> Object:
    source: Any = json_codec.loads(files("apiext.resources.conversion.rules.parsing").joinpath("conversion.schema.json").read_bytes())
    spec = _structural(source["properties"]["spec"], source["$defs"])
    spec["properties"]["spokes"] |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["version"]}
    counted = f"!has(self.spokes) || self.spokes.map(s, has(s.rules) ? s.rules.size() : 0).sum() <= {MAX_RULES}"
    spec[RULES] = [
        _rule("!has(self.spokes) || self.spokes.all(s, s.version != self.hub)", "the hub is no spoke: it has no rules"),
        _rule(counted, f"all spokes together can have {MAX_RULES} rules"),
    ]
    pattern = source["properties"]["metadata"]["properties"]["name"]["pattern"]
    return {
        "type": "object",
        "description": source["title"],
        "required": ["spec"],
        "properties": {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"type": "object"}, "spec": spec, "status": _status()},
        RULES: [_rule(f"self.metadata.name.matches({json_codec.dumps(pattern).decode()})", "the name must be <plural>.<group> of a CRD")],
    }


def _structural(node: Any, definitions: Any) -> Any:
    """Return a JSON Schema as a structural one, with CEL rules for what that cannot say."""
    if (reference := node.get("$ref", "").removeprefix("#/$defs/")) == "scalar":
        return _SCALAR | {key: value for key, value in node.items() if key != "$ref"}
    merged = definitions.get(reference, {}) | node
    found = {key: value for key, value in merged.items() if key not in _LEFT_OUT}
    if not found.keys() & {"type", "enum"} and "const" not in merged:
        return found | _ANY
    if "const" in merged or "type" not in found:
        values = [merged["const"]] if "const" in merged else merged["enum"]
        found |= {"type": "boolean" if isinstance(values[0], bool) else "string", "enum": values}
    if isinstance(merged.get("additionalProperties"), dict):
        found["additionalProperties"] = _structural(merged["additionalProperties"], definitions)
    if "properties" in merged:
        found["properties"] = {name: _structural(child, definitions) for name, child in merged["properties"].items()}
    if "items" in merged:
        found["items"] = _structural(merged["items"], definitions)
    if rules := [*_rules(merged)]:
        # the rule says it with a message
        found = {key: value for key, value in found.items() if key not in ("minProperties", "maxProperties")} | {RULES: rules}
    return found


def _rules(node: Any) -> Iterator[Object]:
    names = node.get("properties") or {}
    if node.get("maxProperties") == 1:
        kinds = ", ".join(f"has(self.{name})" for name in names)
        yield _rule(f"[{kinds}].filter(known, known).size() == 1", f"a rule must have exactly one member of {', '.join(names)}")
    elif {"field", "list"} <= names.keys():
        yield _rule("has(self.field) != has(self.list)", "either `field` or `list: true` is required")
    elif {"map", "values"} <= names.keys():
        given = " || ".join(f"has(self.{name})" for name in ("map", "values", "back", "backValues"))
        yield _rule(given, "`map`, `values`, `back` or `backValues` is required")
        yield _rule("!has(self.map) || !has(self.values)", "either `map` or `values` can be given")
        yield _rule("!has(self.back) || !has(self.backValues)", "either `back` or `backValues` can be given")
    elif {"toHub", "toSpoke"} <= names.keys():
        yield _rule("has(self.toHub) || has(self.toSpoke)", "`toHub` or `toSpoke` is required")


def _rule(expression: str, message: str) -> Object:
    return {"rule": expression, "message": message}


def _status() -> Object:
    findings = _list({"path": _TEXT, "message": _TEXT})
    condition = {
        "type": _TEXT | {"maxLength": 316},
        "status": _TEXT | {"enum": ["True", "False", "Unknown"]},
        "reason": _TEXT | {"maxLength": 1024},
        "message": _TEXT | {"maxLength": 32768},
        "lastTransitionTime": _TEXT | {"format": "date-time"},
        "observedGeneration": {"type": "integer", "format": "int64"},
    }
    conditions = _list(condition, required=["type", "status", "reason", "message", "lastTransitionTime"])
    return {
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64", "description": "The generation of the spec that was checked."},
            "conditions": conditions | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
            "problems": findings | {"description": "What makes the rules unusable."},
            "warnings": findings | {"description": "What the author of the rules should know."},
            "losses": _list({"version": _TEXT, "path": _TEXT, "reason": _TEXT}) | {"description": "Fields that rules drop for good."},
        },
    }


def _list(members: Object, required: list[str] | None = None) -> Object:
    item = {"type": "object", "properties": members} | ({"required": required} if required else {})
    return {"type": "array", "maxItems": _MAX_REPORTED, "items": item}
