"""Conversion objects for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.interface import CompiledRules
from apiext.resources.conversion.rules.model import API_VERSION, KIND
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.schema.compiled import CompiledSchema

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""The schema of a version that keeps all fields."""
Rules = Sequence[Mapping[str, Any]]


def conversion(hub: str = "v2", name: str = "widgets.example.com", **spokes: Rules) -> dict[str, Any]:
    """Return the Conversion of widgets.example.com with the rules of each spoke."""
    versions = [{"version": version, "rules": list(rules)} for version, rules in spokes.items()]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {"hub": hub, "spokes": versions}}


def compiled(document: Mapping[str, Any], **schemas: Mapping[str, Any]) -> CompiledRules:
    """Return the compiled rules of a Conversion; versions without a schema keep all fields."""
    rules = parse_rules(document)
    versions = [rules.hub, *(spoke.version for spoke in rules.spokes)]
    return compile_rules(rules, {version: CompiledSchema(schemas.get(version, OPEN)) for version in versions})


def widget(version: str, spec: Any, **metadata: Any) -> dict[str, Any]:
    """Return a Widget."""
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": "a", **metadata}, "spec": spec}


def converted(rules: CompiledRules, obj: dict[str, Any], target: str) -> tuple[dict[str, Any], bool]:
    """Return a copy of an object in another version, and whether its conversion was exact."""
    result: dict[str, Any] = json_values.copy(obj)
    is_exact = rules.transformation(obj["apiVersion"].rpartition("/")[2], target).apply(result)
    return result, is_exact


def fields(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties; a text is a type."""
    return {
        "type": "object",
        "properties": {name: {"type": schema} if isinstance(schema, str) else schema for name, schema in properties.items()},
    }


def items(schema: Any) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": {"type": schema} if isinstance(schema, str) else schema}
