"""Warnings about types in expressions of policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.schema.cel.policies.type_checking import Warnings, expression_warnings, without_references
from apiext.schema.model import Props

_SPEC = {"type": "object", "properties": {"size": {"type": "integer"}, "texts": {"type": "array", "items": {"type": "string"}}}}
_RULE = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets", "widgets/status"], "operations": ["*"]}


class _Finder:
    """Widgets have a schema, and ConfigMaps; other kinds are unknown."""

    async def kinds(self, resource: GroupVersionResource) -> Sequence[GroupVersionKind]:
        return [GroupVersionKind(resource.group, resource.version, "Widget")] if resource.resource == "widgets" else []

    async def schema(self, kind: GroupVersionKind) -> Props | None:
        data = {"type": "object", "additionalProperties": {"type": "string"}}
        return {
            "Widget": {"type": "object", "properties": {"spec": _SPEC}},
            "ConfigMap": {"type": "object", "properties": {"data": data}},
        }.get(kind.kind)


async def _now(work: Callable[[], Warnings]) -> Warnings:
    return work()


async def _warnings(*expressions: str, rule: dict[str, Any] = _RULE, **spec: Any) -> list[dict[str, str]]:
    validations = [{"expression": expression} for expression in expressions]
    return await expression_warnings({"matchConstraints": {"resourceRules": [rule]}, "validations": validations, **spec}, _Finder(), _now)


async def test_expressions_that_fit() -> None:
    """All names of the environment but authorizer.requestResource are known."""
    expressions = (
        "object.spec.size > 1 && oldObject.spec.texts.all(t, t != '')",
        "object.metadata.name == request.name && authorizer.path('/x').check('get').allowed()",
        "variables.size + 1 > namespaceObject.metadata.generation",
        "params.data.a == 'x'",
    )
    variables = [{"name": "size", "expression": "object.spec.size"}]

    assert await _warnings(*expressions, variables=variables, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}) == []


@pytest.mark.parametrize(
    "expression, message",
    [
        ("object.spec.none > 1", "1:12: undefined field 'none'"),
        ("object.spec.size == 'x'", "1:18: found no matching overload for '_==_' applied to '(int, string)'"),
        ("params.data == 1", "1:1: undeclared reference to 'params' (in container '')"),
        ("variables.none", "1:10: undefined field 'none'"),
        ("authorizer.requestResource.check('get')", "1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'"),
    ],
)
async def test_expressions_that_do_not_fit(expression: str, message: str) -> None:
    """A warning names kind and place."""
    (warning,) = await _warnings(expression)

    assert warning["fieldRef"] == "spec.validations[0].expression"
    assert warning["warning"].startswith(f"example.com/v1, Kind=Widget: ERROR: <input>:{message}\n | {expression}\n | ")
    assert warning["warning"].endswith("^\n")


async def test_variables_that_do_not_fit_are_no_warning() -> None:
    """They are dyn for the expressions that use them."""
    variables = [{"name": "a", "expression": "object.spec.none"}, {"name": "b", "expression": "object.spec"}]

    assert await _warnings("variables.a == 1 && variables.b == 1", variables=variables) == []


@pytest.mark.parametrize(
    "change",
    [{"apiGroups": ["*"]}, {"apiVersions": ["*"]}, {"resources": ["*"]}, {"resources": ["widgets/status"]}, {"resources": ["others"]}],
)
async def test_rules_without_known_kinds(change: dict[str, Any]) -> None:
    """Wildcards, subresources and unknown resources are not checked."""
    assert await _warnings("object.spec.none == 1", rule=_RULE | change) == []


async def test_messages_are_checked() -> None:
    """A warning names the field of the expression."""
    validations = [{"expression": "true", "messageExpression": "object.spec.none"}]
    (warning,) = await _warnings(validations=validations)

    assert warning["fieldRef"] == "spec.validations[0].messageExpression"


def test_references_are_replaced() -> None:
    """Definitions that contain themselves end in an empty object."""
    definitions = {"a": {"type": "object", "properties": {"b": {"allOf": [{"$ref": "b"}], "description": "d"}, "c": {"type": "string"}}}}
    definitions["b"] = {"type": "array", "items": {"$ref": "a"}}

    found = without_references({"$ref": "a"}, definitions.get)

    assert found == {
        "type": "object",
        "properties": {"b": {"type": "array", "items": {"type": "object"}}, "c": {"type": "string"}},
    }
