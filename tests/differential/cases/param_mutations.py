"""Mutating policies that write values of parameters into objects, by both types of patches."""

from collections.abc import Mapping
from typing import Any, Final

from tests.differential.cases.admission_objects import GROUP, Json
from tests.differential.cases.param_values import FIELDS, THING
from tests.differential.cases.policy_cases import CONFIG_MAP, selected
from tests.support.builders.admission import applying, json_patching, mutating_binding, mutating_policy, rule

_TYPED: Final = {"name": "typed", "parameterNotFoundAction": "Deny"}
_PLACED: Final = {"name": "placed", "parameterNotFoundAction": "Deny"}
_TIERS: Final = {"selector": {"matchLabels": {"set": "tiers", "tier": "high"}}, "parameterNotFoundAction": "Deny"}
_GONE: Final = {"name": "gone"}
_TOP: Final = tuple(field for field in FIELDS if "." not in field)


def _set(field: str, value: str) -> Json:
    return applying(f"Object{{spec: Object.spec{{{field}: {value}}}}}")


def _add(path: str, value: str) -> Json:
    return json_patching(f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]")


def _labels(labels: str) -> Json:
    return applying(f"Object{{metadata: Object.metadata{{labels: {labels}}}}}")


CONFIGURED: Final[Mapping[str, Json]] = {
    "text": _set("text", "params.data.max"),
    "number": _set("replicas", "int(params.data.max)"),
    "number-as-text": _set("replicas", "params.data.max"),
    "double": _set("number", "double(params.data.number)"),
    "set": _set("texts", "params.data.names.split(',')"),
    "map": _set("map", "params.data"),
    "missing": _set("text", "params.data.none"),
    "optional": applying("Object{spec: Object.spec{?text: params.data.?none}}"),
    "optional-there": applying("Object{spec: Object.spec{?text: params.data.?max}}"),
    "wrong-number": _set("replicas", "int(params.data.names)"),
    "labels": _labels("params.metadata.labels"),
    "label": _labels("{'limit': params.data.max}"),
    "label-by-name": _labels("{params.metadata.name: 'x'}"),
    "keyed": _set("named", "params.data.names.split(',').map(n, Object.spec.named{name: n, value: params.data.max})"),
    "conditional": applying("params.data.max == '5' ? Object{spec: Object.spec{text: 'five'}} : Object{}"),
    "conditional-no": applying("params.data.max == '6' ? Object{spec: Object.spec{text: 'six'}} : Object{}"),
    "patch-by-key": json_patching("[JSONPatch{op: 'add', path: '/spec/map/' + jsonpatch.escapeKey(params.metadata.name), value: 'x'}]"),
    "patch-number": _add("/spec/replicas", "int(params.data.max)"),
    "patch-names": json_patching("params.data.names.split(',').map(n, JSONPatch{op: 'add', path: '/spec/map/' + n, value: n})"),
    "patch-data": _add("/spec/map", "params.data"),
    "patch-missing": _add("/spec/text", "params.data.none"),
    "patch-op": json_patching("[JSONPatch{op: params.data.max, path: '/spec/text', value: 'x'}]"),
    "patch-path": json_patching("[JSONPatch{op: 'add', path: params.data.names, value: 'x'}]"),
    "patch-test": json_patching("[JSONPatch{op: 'test', path: '/spec/text', value: params.data.max}]"),
    "patch-labels": _add("/metadata/labels/limit", "params.data.max"),
    "patch-whole": _add("/spec/free", "params"),
    "patch-whole-in-list": _add("/spec/free/x", "[dyn(params), dyn(1)]"),
    "patch-metadata": _add("/spec/free", "params.metadata"),
    "patch-all-labels": _add("/metadata/labels", "params.metadata.labels"),
    "patch-binary": _add("/spec/free/raw", "params.binaryData.raw"),
    "patch-created": _add("/spec/text", "params.metadata.creationTimestamp"),
    "patch-namespace": _add("/spec/free", "namespaceObject"),
    "patch-namespace-metadata": _add("/spec/free", "namespaceObject.metadata"),
    "patch-namespace-status": _add("/spec/free", "namespaceObject.status"),
    "patch-namespace-finalizers": _add("/spec/plain", "namespaceObject.spec.finalizers"),
    "patch-request": _add("/spec/free", "request"),
    "patch-request-kind": _add("/spec/free", "request.kind"),
    "patch-request-user": _add("/spec/free", "request.userInfo"),
    "patch-request-groups": _add("/spec/plain", "request.userInfo.groups"),
    "patch-request-options": _add("/spec/free", "request.options"),
    "whole": _set("free", "params"),
    "metadata": _set("free", "params.metadata"),
    "binary": _set("text", "params.binaryData.raw"),
    "created": _set("text", "params.metadata.creationTimestamp"),
    "namespace": _set("free", "namespaceObject"),
    "namespace-metadata": _set("free", "namespaceObject.metadata"),
    "namespace-finalizers": _set("texts", "namespaceObject.spec.finalizers"),
    "request-kind": _set("free", "request.kind"),
    "request-groups": _set("texts", "request.userInfo.groups"),
    "request-options": _set("free", "request.options"),
}
"""Mutations by a ConfigMap."""

MADE: Final[Mapping[str, Json]] = {
    "element": _set("named", "[params.spec.named[0]]"),
    "mapped": _set("named", "params.spec.named.map(n, n)"),
    "mapped-maps": _set("named", "params.spec.named.map(n, {'name': n.name})"),
    "filtered": _set("named", "params.spec.named.filter(n, has(n.value))"),
    "added": _set("texts", "params.spec.texts + ['z']"),
    "added-maps": _set("named", "params.spec.named + [{'name': 'z'}]"),
    "nested": _set("free", "{'x': params.spec.free}"),
    "nested-literal": _set("free", "{'x': dyn({'y': params.spec.text}), 'z': dyn(params.spec.texts)}"),
    "nested-list": _set("free", "{'x': params.spec.texts}"),
    "nested-list-literal": _set("free", "{'x': [params.spec.text]}"),
    "nested-null": _set("free", "{'x': params.spec.maybe}"),
    "object": _set("free", "object.spec.free"),
    "object-null": _set("maybe", "object.spec.maybe"),
    "chosen": _set("named", "params.spec.flag ? [{'name': 'a'}] : []"),
    "chosen-null": _set("maybe", "params.spec.flag ? dyn(null) : dyn('x')"),
    "transformed": _set("map", "params.spec.map.transformMap(k, v, v + k)"),
    "transformed-maps": _set("free", "params.spec.map.transformMap(k, v, k == 'a', {'v': v})"),
    "optional": _set("maybe", "optional.of(params.spec.maybe).value()"),
    "wrapped": _set("free", "dyn(params.spec.free)"),
    "null-number": _set("replicas", "params.spec.maybe"),
    "null-flag": _set("flag", "params.spec.maybe"),
    "null-list": _set("texts", "params.spec.maybe"),
    "null-map": _set("map", "params.spec.maybe"),
    "null-in-map": _set("map", "{'x': params.spec.maybe}"),
    "null-in-list": _set("texts", "[params.spec.maybe]"),
    "null-many": _set("many", "params.spec.maybe"),
    "raw-null": _set("free", "{'x': params.spec.free.a}"),
    "patch-nested": _add("/spec/free", "{'x': dyn(params.spec.free), 'y': dyn([params.spec.maybe])}"),
    "patch-mapped": _add("/spec/named", "params.spec.named.map(n, {'name': n.name})"),
    "patch-whole": _add("/spec/free", "params"),
    "patch-metadata": _add("/spec/free", "params.metadata.labels"),
}
"""Mutations by a custom resource, whose values are parts of others."""

SPECS: Final[Mapping[str, tuple[Json, Json, Json]]] = {
    "variables": (_set("text", "variables.v"), _PLACED, {"variables": [{"name": "v", "expression": "params.data.max + 'x'"}]}),
    "variables-broken": (_set("text", "variables.v"), _PLACED, {"variables": [{"name": "v", "expression": "params.data.none"}]}),
    "conditions": (_set("text", "'x'"), _PLACED, {"matchConditions": [{"name": "c", "expression": "params.data.max == '5'"}]}),
    "conditions-false": (_set("text", "'x'"), _PLACED, {"matchConditions": [{"name": "c", "expression": "params.data.max == '6'"}]}),
    "conditions-broken": (_set("text", "'x'"), _PLACED, {"matchConditions": [{"name": "c", "expression": "params.data.none == '6'"}]}),
    "broken-ignored": (_set("text", "params.data.none"), _PLACED, {"failurePolicy": "Ignore"}),
    "selected": (_set("text", "params.data.max"), _TIERS, {}),
    "selected-patch": (_add("/spec/text", "params.data.max"), _TIERS, {}),
    "missing-deny": (_set("text", "params.data.max"), _GONE | {"parameterNotFoundAction": "Deny"}, {}),
    "missing-deny-ignored": (_set("text", "'x'"), _GONE | {"parameterNotFoundAction": "Deny"}, {"failurePolicy": "Ignore"}),
    "missing-allow": (_set("text", "params.data.max"), _GONE | {"parameterNotFoundAction": "Allow"}, {}),
    "missing-allow-patch": (_add("/spec/text", "params.data.max"), _GONE | {"parameterNotFoundAction": "Allow"}, {}),
    "null": (applying("params == null ? Object{spec: Object.spec{text: 'null'}} : Object{}"), {}, {}),
    "null-broken": (_set("text", "params.data.max"), {}, {}),
    "null-patch": (_add("/spec/maybe", "params"), {}, {}),
}
"""Mutations with a reference and other members of the policy's spec."""


def mutations() -> dict[str, list[Json]]:
    """Return mutating policies with bindings by the label of the Things that meet them."""
    made: dict[str, list[Json]] = {}
    for field in _TOP:
        made |= _typed(f"apply-{field}", _set(field, f"params.spec.{field}"))
        made |= _typed(f"patch-{field}", _add(f"/spec/{field}", f"params.spec.{field}"))
    for field in FIELDS:
        made |= _typed(f"apply-text-{field.replace('.', '-')}", _set("text", f"params.spec.{field}"))
        made |= _typed(f"patch-free-{field.replace('.', '-')}", _add("/spec/free", f"params.spec.{field}"))
    for name, mutation in MADE.items():
        made |= _typed(f"made-{name}", mutation)
    made |= {f"limit-{name}": _policy(f"limit-{name}", one, CONFIG_MAP, _PLACED) for name, one in CONFIGURED.items()}
    return made | {f"spec-{name}": _policy(f"spec-{name}", one, CONFIG_MAP, ref, **spec) for name, (one, ref, spec) in SPECS.items()}


def _typed(case: str, mutation: Json) -> dict[str, list[Json]]:
    return {case: _policy(case, mutation, THING, _TYPED)}


def _policy(case: str, mutation: Json, kind: Json, reference: Json, **spec: Any) -> list[Json]:
    constraints = selected(case) | {"resourceRules": [rule("things", group=GROUP, operations=["CREATE", "UPDATE"])]}
    made = mutating_policy(case, mutation, paramKind=kind, matchConstraints=constraints, **spec)
    return [made, mutating_binding(case, case, **({"paramRef": reference} if reference else {}))]
