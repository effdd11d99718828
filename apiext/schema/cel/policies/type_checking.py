"""Warnings about expressions that do not fit the types of what a policy matches (plugin/policy/validating/typechecking.go)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource, parse_group_version
from apiext.schema.cel.declarations import DeclaredTypes, declare
from apiext.schema.cel.environment import Environment, ObjectTypes
from apiext.schema.cel.libraries.authorization import AUTHORIZER
from apiext.schema.cel.policies.environments import (
    AUTHORIZER_NAME,
    NAMESPACE_NAME,
    OBJECT,
    OLD_OBJECT,
    PARAMS,
    REQUEST_NAME,
    VARIABLES_NAME,
)
from apiext.schema.cel.policies.object_types import NAMESPACE, REQUEST, VARIABLES, AdmissionTypes, variable_type
from apiext.schema.cel.rule_compiler import compile_expression
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.cel.types import DYN, CelType
from apiext.schema.cel.versions import stored_environment
from apiext.schema.model import Props, Structural

_MAX_TYPES: Final = 10
"""Kinds of a rule that are checked."""
_ALL: Final = "*"


class TypeFinder(Protocol):
    """Finds kinds and their schemas."""

    async def kinds(self, resource: GroupVersionResource) -> Sequence[GroupVersionKind]:
        """Return the kinds of a resource, which may be unknown."""
        ...

    async def schema(self, kind: GroupVersionKind) -> Props | None:
        """Return the published schema of a kind without references (see `without_references`), None for an unknown kind."""
        ...


Warnings = list[dict[str, str]]
Aside = Callable[[Callable[[], Warnings]], Awaitable[Warnings]]
"""Does long work."""


async def expression_warnings(spec: Mapping[str, Any], types: TypeFinder, aside: Aside) -> Warnings:
    """Return the `status.typeChecking.expressionWarnings` of a ValidatingAdmissionPolicy with this spec."""
    kinds = sorted(await _kinds(spec, types), key=lambda kind: (kind.group, kind.version, kind.kind))
    schemas = [(kind, schema) for kind in kinds if (schema := await types.schema(kind)) is not None]
    param_kind = _param_kind(spec)
    params = None if param_kind is None else await types.schema(param_kind)
    return await aside(lambda: _warnings(spec, [_TypeCheck(kind, schema, param_kind, params) for kind, schema in schemas]))


def _warnings(spec: Mapping[str, Any], checks: Sequence[_TypeCheck]) -> Warnings:
    warnings = []
    for number, validation in enumerate(spec.get("validations") or ()):
        for member in ("expression", "messageExpression"):
            expression = validation.get(member) or ""
            if not expression and member == "messageExpression":
                continue
            texts = [text for check in checks if (text := check.fault(expression, spec.get("variables") or ()))]
            if texts:
                warnings.append({"fieldRef": f"spec.validations[{number}].{member}", "warning": "\n".join(texts)})
    return warnings


async def _kinds(spec: Mapping[str, Any], types: TypeFinder) -> set[GroupVersionKind]:
    """Return the kinds that the rules name without wildcards, of one rule 10 at most."""
    found: set[GroupVersionKind] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        count = 0
        for resource in _resources(rule):
            for kind in await types.kinds(resource):
                found.add(kind)
                count += 1
                if count == _MAX_TYPES:
                    return found
    return found


def _resources(rule: Mapping[str, Any]) -> Iterator[GroupVersionResource]:
    groups, versions = (sorted(rule.get(name) or ()) for name in ("apiGroups", "apiVersions"))
    if any(_ALL in value for value in (*groups, *versions)):
        return
    resources = sorted(name for name in rule.get("resources") or () if _ALL not in name and "/" not in name)
    for group in groups:
        for version in versions:
            for resource in resources:
                yield GroupVersionResource(group, version, resource)


def _param_kind(spec: Mapping[str, Any]) -> GroupVersionKind | None:
    kind = spec.get("paramKind")
    if kind is None:
        return None
    try:
        group, version = parse_group_version(kind.get("apiVersion") or "")
    except ValueError:
        return None
    return GroupVersionKind(group, version, kind.get("kind") or "")


class _AllTypes:
    """The types of several sources."""

    def __init__(self, *parts: ObjectTypes) -> None:
        self._parts = parts

    def __contains__(self, name: object, /) -> bool:
        return any(name in part for part in self._parts)

    def field(self, name: str, field_name: str, /) -> CelType | None:
        return next((part.field(name, field_name) for part in self._parts if name in part), None)

    def is_named(self, name: str, /) -> bool:
        return any(part.is_named(name) for part in self._parts)


class _TypeCheck:
    """Checks expressions for objects of one kind."""

    def __init__(self, kind: GroupVersionKind, schema: Props, param_kind: GroupVersionKind | None, params: Props | None) -> None:
        self._kind = kind
        self._parts: list[ObjectTypes] = []
        self._names = {NAMESPACE_NAME: NAMESPACE, REQUEST_NAME: REQUEST, AUTHORIZER_NAME: AUTHORIZER, VARIABLES_NAME: VARIABLES}
        self._names[OBJECT] = self._names[OLD_OBJECT] = self._declare(schema, f"{kind.kind}0")
        if param_kind is not None:
            self._names[PARAMS] = DYN if params is None else self._declare(params, f"{param_kind.kind}1")

    def _declare(self, schema: Props, name: str) -> CelType:
        declaration = declare(Structural(schema), resource=True)
        if declaration is None:
            return DYN
        types = DeclaredTypes(declaration, name)
        self._parts.append(types)
        return types.kind

    def fault(self, expression: str, variables: Sequence[Mapping[str, Any]]) -> str:
        """Return the warning about an expression, empty if it fits. Variables that do not fit have the type dyn."""
        fields: dict[str, CelType] = {}
        types = _AllTypes(*self._parts, AdmissionTypes(fields, patches=False))
        environment = stored_environment().with_variables(self._names, types)
        for variable in variables:
            fields[variable.get("name") or ""] = _type(variable.get("expression") or "", environment)
        try:
            compile_expression(expression, environment)
        except CompileError as error:
            kind = self._kind
            return f"{kind.group}/{kind.version}, Kind={kind.kind}: {error}\n"
        return ""


def _type(expression: str, environment: Environment) -> CelType:
    try:
        checked = compile_expression(expression, environment)
    except CompileError:
        return DYN
    return variable_type(checked.types[checked.expression.id])


def without_references(schema: Props, find: Callable[[str], Props | None]) -> Props:
    """Return an OpenAPI schema in which the definitions replace references to them. A definition within itself becomes an empty object.

    `find` returns a definition for a reference, None for an unknown one, which becomes an object, too.
    """
    return _resolved(schema, find, frozenset())


def _resolved(schema: Props, find: Callable[[str], Props | None], around: frozenset[str]) -> Props:
    reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf") or () if "$ref" in part), None)
    if reference is not None:
        found = None if reference in around else find(reference)
        if found is None:
            return {"type": "object"}
        schema, around = found, around | {reference}
    result = dict(schema)
    if properties := schema.get("properties"):
        result["properties"] = {name: _resolved(child, find, around) for name, child in properties.items()}
    for member in ("items", "additionalProperties"):
        child = schema.get(member)
        if isinstance(child, Mapping):
            result[member] = _resolved(child, find, around)
    return result
