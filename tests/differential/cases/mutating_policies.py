"""Mutating policies and what they make of Things."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.differential.cases.admission_objects import GROUP, Json
from tests.differential.cases.policy_cases import CONFIG_MAP, NAMED, selected
from tests.support.builders.admission import applying, json_patching, mutating_binding, mutating_policy, rule

APPLIED: Final[Mapping[str, str]] = {
    "nothing": "Object{}",
    "empty-spec": "Object{spec: Object.spec{}}",
    "text": "Object{spec: Object.spec{text: 'set'}}",
    "text-by-object": "Object{spec: Object.spec{text: object.spec.text + '!'}}",
    "text-by-params": "Object{spec: Object.spec{text: params.data.names}}",
    "number": "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}",
    "double": "Object{spec: Object.spec{number: 3.0}}",
    "double-as-integer": "Object{spec: Object.spec{replicas: int(object.spec.number)}}",
    "integer-as-double": "Object{spec: Object.spec{number: 3}}",
    "flag": "Object{spec: Object.spec{flag: !object.spec.flag}}",
    "null": "Object{spec: Object.spec{maybe: null}}",
    "labels": "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
    "annotations": "Object{metadata: Object.metadata{annotations: params.data}}",
    "label-of-namespace": "Object{metadata: Object.metadata{labels: {'in': namespaceObject.metadata.name}}}",
    "label-of-user": "Object{metadata: Object.metadata{labels: {'op': request.operation}}}",
    "map": "Object{spec: Object.spec{map: {'new': 'x', 'a': 'changed'}}}",
    "deep": "Object{spec: Object.spec{deep: Object.spec.deep{a: 5}}}",
    "set": "Object{spec: Object.spec{texts: ['z', 'a']}}",
    "list": "Object{spec: Object.spec{plain: ['z']}}",
    "keyed": "Object{spec: Object.spec{named: [Object.spec.named{name: 'two', value: 'v'}, Object.spec.named{name: 'new'}]}}",
    "keyed-wrong-name": "Object{spec: Object.spec{named: [Object.spec.named.item{name: 'two'}]}}",
    "keyed-as-maps": "Object{spec: Object.spec{named: [{'name': 'two', 'value': 'v'}]}}",
    "keyed-without-key": "Object{spec: Object.spec{named: [Object.spec.named{value: 'v'}]}}",
    "free": "Object{spec: Object.spec{free: Object.spec.free{more: 'x'}}}",
    "free-map": "Object{spec: Object.spec{free: {'more': 'x'}}}",
    "optional-present": "Object{spec: Object.spec{?text: object.spec.?text}}",
    "optional-absent": "Object{spec: Object.spec{?text: object.spec.?none}}",
    "conditional": "object.spec.replicas > 1 ? Object{spec: Object.spec{text: 'many'}} : Object{}",
    "unknown-field": "Object{spec: Object.spec{unknown: 'x'}}",
    "unknown-struct": "Object{spec: Object.spec{unknown: Object.spec.unknown{a: 1}}}",
    "wrong-type": "Object{spec: Object.spec{text: 5}}",
    "wrong-struct": "Object{spec: Object.spec{deep: Object.spec.other{a: 5}}}",
    "out-of-range": "Object{spec: Object.spec{replicas: 99}}",
    "status": "Object{status: Object.status{phase: 'x'}}",
    "name": "Object{metadata: Object.metadata{name: 'other'}}",
    "namespace": "Object{metadata: Object.metadata{namespace: 'other'}}",
    "kind": "Object{kind: 'Other'}",
    "finalizers": "Object{metadata: Object.metadata{finalizers: ['a.b/c']}}",
    "owner": "Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{"
    "apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u'}]}}",
    "managed-fields": "Object{metadata: Object.metadata{managedFields: []}}",
    "missing-key": "Object{spec: Object.spec{text: object.spec.none}}",
    "division": "Object{spec: Object.spec{replicas: 1 / (object.spec.replicas - 3)}}",
    "escaped": "Object{spec: Object.spec{free: Object.spec.free{x__dash__y: 'z', __in__: 'w'}}}",
}
"""Expressions of apply configurations."""

PATCHED: Final[Mapping[str, str]] = {
    "nothing": "[JSONPatch{op: 'test', path: '/spec/replicas', value: 3}]",
    "add": "[JSONPatch{op: 'add', path: '/spec/text', value: 'set'}]",
    "add-by-object": "[JSONPatch{op: 'add', path: '/spec/text', value: object.spec.text + params.data.max}]",
    "replace": "[JSONPatch{op: 'replace', path: '/spec/replicas', value: 5}]",
    "replace-missing": "[JSONPatch{op: 'replace', path: '/spec/none', value: 5}]",
    "remove": "[JSONPatch{op: 'remove', path: '/spec/replicas'}]",
    "remove-missing": "[JSONPatch{op: 'remove', path: '/spec/none'}]",
    "move": "[JSONPatch{op: 'move', from: '/spec/text', path: '/spec/maybe'}]",
    "copy": "[JSONPatch{op: 'copy', from: '/spec/text', path: '/spec/maybe'}]",
    "test": "[JSONPatch{op: 'test', path: '/spec/replicas', value: 3}, JSONPatch{op: 'add', path: '/spec/text', value: 'set'}]",
    "test-fails": "[JSONPatch{op: 'test', path: '/spec/replicas', value: 4}, JSONPatch{op: 'add', path: '/spec/text', value: 'set'}]",
    "unknown-operation": "[JSONPatch{op: 'odd', path: '/spec/text', value: 'set'}]",
    "no-operation": "[JSONPatch{path: '/spec/text', value: 'set'}]",
    "no-path": "[JSONPatch{op: 'add', value: 'set'}]",
    "bad-path": "[JSONPatch{op: 'add', path: 'spec', value: 'set'}]",
    "no-value": "[JSONPatch{op: 'add', path: '/spec/text'}]",
    "null-value": "[JSONPatch{op: 'add', path: '/spec/maybe', value: null}]",
    "list-value": "[JSONPatch{op: 'add', path: '/spec/plain', value: ['a', 'b']}]",
    "append": "[JSONPatch{op: 'add', path: '/spec/plain/-', value: 'z'}]",
    "insert": "[JSONPatch{op: 'add', path: '/spec/plain/1', value: 'z'}]",
    "index": "[JSONPatch{op: 'add', path: '/spec/plain/9', value: 'z'}]",
    "map-value": "[JSONPatch{op: 'add', path: '/spec/free', value: {'a': dyn(1), 'b': dyn([1, 2, 3]), 'c': dyn(true)}}]",
    "object-value": "[JSONPatch{op: 'add', path: '/spec/deep', value: Object.spec.deep{a: 3, b: 'x'}}]",
    "mixed-list": "[JSONPatch{op: 'add', path: '/spec/named', value: [Object.spec.named{name: 'a'}]}]",
    "escape": "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/a~b'), value: 'x'}]",
    "label": "[JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'x'}]",
    "annotations": "[JSONPatch{op: 'add', path: '/metadata/annotations', value: params.data}]",
    "unknown-field": "[JSONPatch{op: 'add', path: '/spec/unknown', value: 'x'}]",
    "wrong-type": "[JSONPatch{op: 'add', path: '/spec/text', value: 5}]",
    "double": "[JSONPatch{op: 'add', path: '/spec/number', value: 3.0}]",
    "out-of-range": "[JSONPatch{op: 'add', path: '/spec/replicas', value: 99}]",
    "conditional": "object.spec.replicas > 1 ? [JSONPatch{op: 'add', path: '/spec/text', value: 'set'}] : []",
    "several": "[JSONPatch{op: 'remove', path: '/spec/text'}, JSONPatch{op: 'add', path: '/spec/text', value: 'again'}]",
    "missing-key": "[JSONPatch{op: 'add', path: '/spec/text', value: object.spec.none}]",
    "name": "[JSONPatch{op: 'replace', path: '/metadata/name', value: 'other'}]",
    "api-version": "[JSONPatch{op: 'replace', path: '/apiVersion', value: 'admission.example.com/v2'}]",
    "kind": "[JSONPatch{op: 'replace', path: '/kind', value: 'Other'}]",
    "remove-metadata": "[JSONPatch{op: 'remove', path: '/metadata'}]",
    "bytes": "[JSONPatch{op: 'add', path: '/spec/text', value: b'abc'}]",
    "timestamp": "[JSONPatch{op: 'add', path: '/spec/text', value: timestamp('2020-01-01T00:00:00Z')}]",
    "duration": "[JSONPatch{op: 'add', path: '/spec/text', value: duration('90m')}]",
    "mapped": "object.spec.texts.map(t, JSONPatch{op: 'add', path: '/spec/map/' + t, value: t})",
}
"""Expressions of JSON patches."""

_UNKNOWN: Final = "[JSONPatch{op: 'add', path: '/z', value: 1}, JSONPatch{op: 'add', path: '/metadata/a', value: 1}]"
OTHER_KINDS: Final[Mapping[str, Json]] = {
    "applied": applying("Object{metadata: Object.metadata{annotations: {'a': 'b'}}}"),
    "applied-base64": applying("Object{data: Object.data{a: '%'}}"),
    "applied-time": applying("Object{metadata: Object.metadata{creationTimestamp: 'x'}}"),
    "applied-unknown": applying("Object{nothing: 'x'}"),
    "patched": json_patching("[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'a': 'b'}}]"),
    "patched-base64": json_patching("[JSONPatch{op: 'add', path: '/data', value: {'a': '%'}}]"),
    "patched-kind": json_patching("[JSONPatch{op: 'replace', path: '/kind', value: 'Other'}]"),
    "patched-unknown": json_patching(_UNKNOWN),
}
"""Mutations of objects with Go types."""

_SCALES: Final = (
    applying("Object{spec: Object.spec{replicas: 9}}"),
    json_patching("[JSONPatch{op: 'replace', path: '/spec/replicas', value: 9}]"),
    json_patching("[JSONPatch{op: 'test', path: '/spec/replicas', value: 0}]"),
    json_patching("[JSONPatch{op: 'remove', path: '/spec/none'}]"),
)

COMPILED: Final = (
    applying("'text'"),
    applying("Object.spec{}"),
    applying("{'spec': {}}"),
    applying("Object{spec: Object.other{a: 1}}"),
    applying("Object{spec: 1}"),
    applying("object"),
    applying("Other{}"),
    applying(""),
    applying("Object{"),
    applying("JSONPatch{op: 'add'}"),
    applying("Object{spec: Object.spec{text: none}}"),
    json_patching("{}"),
    json_patching("Object{}"),
    json_patching("JSONPatch{op: 'add'}"),
    json_patching("[JSONPatch{op: 1}]"),
    json_patching("[JSONPatch{other: 'add'}]"),
    json_patching("[Object{}]"),
    json_patching("['text']"),
    json_patching("[JSONPatch{op: 'add', path: '/a', value: none}]"),
    json_patching("[JSONPatch{op: 'add', path: ['a'], value: 1}]"),
    json_patching(""),
    {"patchType": "JSONPatch"},
    {"patchType": "Other", "jsonPatch": {"expression": "[]"}},
    {"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}},
)
"""Mutations, most of which are refused."""


def _policy(case: str, *mutations: Json, **spec: Any) -> list[Json]:
    members = {"paramKind": CONFIG_MAP, "matchConstraints": _selected(case)} | spec
    return [mutating_policy(case, *mutations, **members), mutating_binding(case, case, paramRef=NAMED)]


def of_other_kinds() -> dict[str, list[Json]]:
    """Return policies with bindings by the label of the objects that meet them."""
    found = {}
    for (name, mutation), failure in itertools.product(OTHER_KINDS.items(), ("Fail", "Ignore")):
        case = f"{name}-{failure.lower()}"
        rules = [rule("*", operations=["CREATE"])]
        constraints = {"resourceRules": rules, "objectSelector": {"matchLabels": {"case": case}}}
        made = mutating_policy(case, mutation, matchConstraints=constraints, failurePolicy=failure)
        found[case] = [made, mutating_binding(case, case)]
    return found


def of_scales() -> dict[int, list[Json]]:
    """Return policies with bindings by the replicas of the scales that meet them."""
    found = {}
    for replicas, (mutation, failure) in enumerate(itertools.product(_SCALES, ("Fail", "Ignore")), 1):
        case = f"scale-{replicas}"
        conditions = _conditions(f"object.spec.replicas == {replicas}")
        rules = [rule("things/scale", group=GROUP, operations=["UPDATE"])]
        made = mutating_policy(case, mutation, rules=rules, matchConditions=conditions, failurePolicy=failure)
        found[replicas] = [made, mutating_binding(case, case)]
    return found


def _selected(case: str) -> Json:
    return selected(case) | {"resourceRules": [rule("things", group=GROUP, operations=["CREATE", "UPDATE"])]}


def _conditions(*expressions: str) -> list[Json]:
    return [{"name": f"c{number}", "expression": expression} for number, expression in enumerate(expressions)]


def _variables(**expressions: str) -> list[Json]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


_SET: Final = applying("Object{spec: Object.spec{text: 'set'}}")
_APPEND: Final = json_patching("[JSONPatch{op: 'replace', path: '/spec/text', value: object.spec.text + '+'}]")
_BROKEN: Final = applying("Object{spec: Object.spec{text: object.spec.none}}")
_LOOPS: Final = "".join(f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all({name}, " for name in "abcdef") + "true" + ")" * 6
_ALLOWED: Final = "authorizer.group('').resource('pods').namespace('default').check('create').allowed()"
_SPECS: Final[dict[str, tuple[Sequence[Json], Json]]] = {
    "two-mutations": ([_SET, _APPEND], {}),
    "broken-first": ([_BROKEN, _SET], {}),
    "broken-last": ([_SET, _BROKEN], {}),
    "broken-ignored": ([_SET, _BROKEN, _APPEND], {"failurePolicy": "Ignore"}),
    "needed": ([_APPEND], {"reinvocationPolicy": "IfNeeded"}),
    "conditions-true": ([_SET], {"matchConditions": _conditions("object.spec.replicas == 3")}),
    "conditions-false": ([_SET], {"matchConditions": _conditions("object.spec.replicas == 4")}),
    "conditions-broken": ([_SET], {"matchConditions": _conditions("object.spec.none == 4")}),
    "conditions-ignored": ([_SET], {"matchConditions": _conditions("object.spec.none == 4"), "failurePolicy": "Ignore"}),
    "variables": (
        [
            applying("Object{spec: Object.spec{text: variables.b}}"),
            json_patching("[JSONPatch{op: 'add', path: '/spec/maybe', value: variables.a}]"),
        ],
        {"variables": _variables(a="object.spec.text", b="variables.a + string(object.spec.replicas)")},
    ),
    "variables-broken": (
        [applying("Object{spec: Object.spec{text: variables.a}}")],
        {"variables": _variables(a="object.spec.none")},
    ),
    "authorizer": ([applying(f"{_ALLOWED} ? Object{{spec: Object.spec{{text: 'may'}}}} : Object{{}}")], {}),
    "cost-call": ([applying(f"{_LOOPS} ? Object{{spec: Object.spec{{text: 'late'}}}} : Object{{}}")], {}),
    "cost-ignored": ([applying(f"{_LOOPS} ? Object{{}} : Object{{}}"), _SET], {"failurePolicy": "Ignore"}),
    "cost-budget": ([applying(f"{_ALLOWED} && {_ALLOWED} ? Object{{spec: Object.spec{{text: 'may'}}}} : Object{{}}")] * 16, {}),
}


def policies() -> dict[str, list[Json]]:
    """Return policies with bindings by the label of the Things that meet them."""
    made = {f"apply-{name}": _policy(f"apply-{name}", applying(expression)) for name, expression in APPLIED.items()}
    made |= {f"patch-{name}": _policy(f"patch-{name}", json_patching(expression)) for name, expression in PATCHED.items()}
    made |= {f"spec-{name}": _policy(f"spec-{name}", *mutations, **spec) for name, (mutations, spec) in _SPECS.items()}
    return made | _several()


def _several() -> dict[str, list[Json]]:
    """Return policies that meet the same Things, in the order of their names, and bindings without parameter."""
    missing = {"name": "missing", "namespace": "default"}
    one, other = (_policy(name, _APPEND, matchConstraints=_selected("several"), reinvocationPolicy="IfNeeded") for name in ("s1", "s2"))
    denied, allowed = (_policy(f"param-{action.lower()}", _SET) for action in ("Deny", "Allow"))
    denied[1]["spec"]["paramRef"] = missing | {"parameterNotFoundAction": "Deny"}
    allowed[1]["spec"]["paramRef"] = missing | {"parameterNotFoundAction": "Allow"}
    excluded = _policy("excluded", _SET)
    excluded[1]["spec"]["matchResources"] = {"excludeResourceRules": [rule("things", group=GROUP)]}
    return {"several": [*one, *other], "param-deny": denied, "param-allow": allowed, "excluded": excluded}
