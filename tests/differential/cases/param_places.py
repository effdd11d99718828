"""Parameters at every place of a policy, by every kind of reference."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.differential.cases.admission_objects import Json
from tests.differential.cases.param_values import CONFIG_MAPS, named
from tests.differential.cases.policy_cases import policy
from tests.differential.cases.policy_expressions import PARAMETER
from tests.support.builders.admission import validating_binding

LIMITS: Final = named(PARAMETER, "placed", of="places", tier="one")
CONFIGURED: Final = tuple(
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"max": number}}
    for name, number, labels in (
        ("tier-a", "1", {"tier": "low", "set": "tiers"}),
        ("tier-b", "5", {"tier": "high", "set": "tiers"}),
        ("tier-c", "9", {"tier": "top", "set": "tiers", "extra": "yes"}),
    )
)
"""ConfigMaps that selectors tell apart."""

MESSAGES: Final = (
    "'limit ' + params.data.max",
    "params.data.names + ''",
    "string(int(params.data.max) + 1)",
    "params.data.names.split(',').map(n, n + '!').join(' ')",
    "params.data.none + ''",
    "has(params.data.none) ? 'yes' : 'no'",
    "string(params.data.?none.orValue('nothing'))",
    "string(params.data.?max.orValue('nothing'))",
    "'%s of %s'.format([params.data.max, params.metadata.name])",
    "params.data.text.trim() + '|'",
    "params.metadata.labels.tier + params.metadata.namespace + ''",
    "string(quantity(params.data.quantity).asInteger())",
    "'%d'.format([params.data.max])",
    "params == null ? 'none' : 'some'",
    "object.metadata.name + params.data.max + request.operation",
    "string(params.data == object.spec.map)",
    "string(params.data.max.matches('^[0-9]+$'))",
    "params.binaryData.raw + ''",
    "params.data.empty + ''",
    "string(params.data.number) + string(double(params.data.number))",
)
"""Texts of denials."""

DENIALS: Final = (
    "params.data.max == '6'",
    "int(params.data.max) == object.spec.replicas",
    "object.spec.replicas in [int(params.data.max)]",
    "object.spec.texts == params.data.names.split(',')",
    "object.spec.texts.exists(t, t == params.data.max)",
    "params.data.names.split(',').exists_one(n, n > 'a')",
    "params.data.names.split(',').filter(n, n in object.spec.texts).size() == 2",
    "params.data.exists(k, k == object.metadata.name)",
    "params.data.map(k, params.data[k]).size() == 2",
    "params.data.transformMap(k, v, v + k).size() == 2",
    "params.data[object.metadata.name] == 'x'",
    "params.data[object.spec.replicas] == 'x'",
    "params['data'].max == '6'",
    "params.data.max < object.spec.replicas",
    "params.data.max + 1 == 6",
    "params.data.max == object.spec.many",
    "params.data.names.contains(object.spec.text)",
    "object.spec.text.matches(params.data.names)",
    "object.spec.text.matches('(' + params.data.max)",
    "object.spec.text.startsWith(params.data.empty + 'x')",
    "timestamp(params.data.max) > timestamp(object.spec.when)",
    "duration(params.data.max + 'm') < duration('1m')",
    "duration(params.data.names) < duration('1m')",
    "quantity(params.data.max).isLessThan(quantity('3'))",
    "quantity(params.data.names).isLessThan(quantity('3'))",
    "isQuantity(params.data.names)",
    "url(params.data.names).getHost() == 'x'",
    "ip(params.data.max).family() == 4",
    "semver(params.data.number + '.0').major() == 2",
    "format.dns1123Label().validate(params.data.text).hasValue() == false",
    "sets.contains(object.spec.texts, params.data.names.split(',')) && false",
    "sets.intersects(object.spec.plain, params.data.names.split(','))",
    "bool(params.data.max)",
    "double(params.data.names) == 1.0",
    "uint('-' + params.data.max) == 5u",
    "1 / (int(params.data.max) - 5) == 1",
    "params.data.none.deep == 'x'",
    "params.none.deep == 'x'",
    "has(params.none.deep)",
    "params.?none.?deep.orValue(1) == 2",
    "params[?'none'].hasValue()",
    "optional.ofNonZeroValue(params.data.empty).hasValue()",
    "params.spec == null",
    "params == object",
    "params == params && false",
    "type(params) == string",
    "params.all(k, k == 'data')",
    "params && false",
    "!params.data.max",
    "-params.data.max == 5",
    "authorizer.group('').resource('x').namespace(params.metadata.namespace).name(params.metadata.name).check('get').reason() == 'x'",
    "!authorizer.path('/' + params.data.max).check('get').allowed()",
    "namespaceObject.metadata.name == params.data.max",
    "params.metadata.namespace != namespaceObject.metadata.name",
    "request.userInfo.username == params.data.max",
    "params.metadata.uid == ''",
    "params.metadata.labels == object.metadata.labels",
    "dyn(params.data.max) == 5",
)
"""Validations that deny, or fail."""

ABSENT: Final = (
    "params.data.max == '5'",
    "params == null && false",
    "params != null && params.data.max == '5'",
    "params == null || params.data.max == '5' ? false : true",
    "has(params.data)",
    "!has(params.data)",
    "params.?data.hasValue()",
    "params.?data.?max.orValue('7') == '8'",
    "type(params) == null_type && false",
    "params.size() == 1",
    "size(params) == 1",
    "params.all(k, k == 'x')",
    "params in [object, object] && false",
    "params['data'] == 1",
    "string(params) == ''",
    "params == object.spec.maybe && false",
    "optional.of(params).hasValue() && false",
    "optional.ofNonZeroValue(params).hasValue()",
)
"""Validations of a binding without a reference, whose parameter is null."""


def _variables(**expressions: str) -> list[Json]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def _conditions(*expressions: str) -> list[Json]:
    return [{"name": f"c{number}", "expression": expression} for number, expression in enumerate(expressions)]


def _annotations(*expressions: str) -> list[Json]:
    return [{"key": f"k{number}", "valueExpression": expression} for number, expression in enumerate(expressions)]


def _said(text: str, expression: str = "false") -> Json:
    return {"expression": expression, "messageExpression": text}


SPECS: Final[Mapping[str, tuple[Sequence[str | Json], Json]]] = {
    "variable": (["variables.v == '6'"], {"variables": _variables(v="params.data.max")}),
    "variable-number": (["variables.v > object.spec.replicas + 5"], {"variables": _variables(v="int(params.data.max)")}),
    "variable-list": ([_said("variables.v.join('+')")], {"variables": _variables(v="params.data.names.split(',')")}),
    "variable-map": ([_said("variables.v.max + '-' + variables.v.empty")], {"variables": _variables(v="params.data")}),
    "variable-whole": ([_said("variables.v.metadata.name + ''")], {"variables": _variables(v="params")}),
    "variable-chain": (
        [_said("variables.c + '-' + variables.a")],
        {"variables": _variables(a="params.data.max", b="variables.a + params.data.number", c="variables.b + variables.b")},
    ),
    "variable-broken": (["variables.v == 'x'"], {"variables": _variables(v="params.data.none")}),
    "variable-broken-number": (["variables.v == 1"], {"variables": _variables(v="int(params.data.names)")}),
    "variable-broken-unused": (["params.data.max == '7'"], {"variables": _variables(v="params.data.none")}),
    "variable-broken-twice": (["variables.w == 'x'"], {"variables": _variables(v="params.data.none", w="variables.v + 'x'")}),
    "variable-has": (["has(variables.v) && has(variables.v.max) && false"], {"variables": _variables(v="params.data")}),
    "variable-optional": (["variables.v.hasValue()"], {"variables": _variables(v="params.data.?none")}),
    "variable-optional-there": (["variables.v.value() == '6'"], {"variables": _variables(v="params.data.?max")}),
    "variable-object": (["variables.v"], {"variables": _variables(v="object.spec.text in params.data.names.split(',')")}),
    "variable-macro": (["variables.v.size() == 9"], {"variables": _variables(v="params.data.map(k, k.size())")}),
    "variable-in-message": ([_said("string(variables.v)", "params == null")], {"variables": _variables(v="params.data.size()")}),
    "variable-in-broken-message": ([_said("string(variables.v)")], {"variables": _variables(v="params.data.none")}),
    "conditions-true": (["false"], {"matchConditions": _conditions("params.data.max == '5'", "params != null")}),
    "conditions-false": (["false"], {"matchConditions": _conditions("params.data.max == '6'")}),
    "conditions-broken": (["false"], {"matchConditions": _conditions("params.data.none == 'x'")}),
    "conditions-broken-false": (["false"], {"matchConditions": _conditions("params.data.none == 'x'", "params.data.max == '6'")}),
    "conditions-broken-ignored": (
        ["false"],
        {"matchConditions": _conditions("params.data.none == 'x'"), "failurePolicy": "Ignore"},
    ),
    "conditions-types": (["false"], {"matchConditions": _conditions("int(params.data.names) == 1")}),
    "conditions-object": (["false"], {"matchConditions": _conditions("object.spec.replicas < int(params.data.max)")}),
    "conditions-name": (["false"], {"matchConditions": _conditions("object.metadata.name in params.data.names.split(',')")}),
    "conditions-user": (["false"], {"matchConditions": _conditions("request.userInfo.username != params.data.max")}),
    "annotations": (["false"], {"auditAnnotations": _annotations("params.data.max + ''", "null")}),
    "annotations-broken": (["true"], {"auditAnnotations": _annotations("params.data.none + 'x'")}),
    "annotations-broken-first": (["false"], {"auditAnnotations": _annotations("params.data.none + 'x'", "params.data.max + ''")}),
    "annotations-broken-ignored": (
        ["false"],
        {"auditAnnotations": _annotations("params.data.none + 'x'"), "failurePolicy": "Ignore"},
    ),
    "annotations-variable": (
        ["true"],
        {"auditAnnotations": _annotations("variables.v + ''"), "variables": _variables(v="params.data.none")},
    ),
    "annotations-number": (["true"], {"auditAnnotations": _annotations("string(int(params.data.names))")}),
    "ignored": (["params.data.none == 'x'"], {"failurePolicy": "Ignore"}),
    "ignored-then-false": (["params.data.none == 'x'", "params.data.max == '6'"], {"failurePolicy": "Ignore"}),
    "reason": ([{"expression": "params.data.max == '6'", "reason": "Forbidden", "messageExpression": "'limit ' + params.data.max"}], {}),
    "message-and-expression": ([_said("params.data.none + ''") | {"message": "no"}], {}),
    "cost": (["".join(f"params.data.all({name}, " for name in "abcdefgh") + "true" + ")" * 8], {}),
}
"""Validations and other members of a policy's spec."""

_ONE: Final = {"name": "placed"}
_TIERS: Final = {"matchLabels": {"set": "tiers"}}
_GONE: Final = {"matchLabels": {"set": "none"}}


def _expressed(key: str, operator: str, *values: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator} | ({"values": list(values)} if values else {})]}


REFERENCES: Final[Mapping[str, Json]] = {
    "name": _ONE,
    "name-namespace": _ONE | {"namespace": "default"},
    "name-other-namespace": _ONE | {"namespace": "kube-system"},
    "name-missing-namespace": _ONE | {"namespace": "missing"},
    "name-gone": {"name": "gone"},
    "labels": {"selector": {"matchLabels": {"tier": "high"}}},
    "labels-namespace": {"selector": {"matchLabels": {"tier": "low"}}, "namespace": "default"},
    "labels-other-namespace": {"selector": {"matchLabels": {"tier": "low"}}, "namespace": "kube-system"},
    "labels-two": {"selector": {"matchLabels": {"set": "tiers", "tier": "top"}}},
    "labels-gone": {"selector": _GONE},
    "in": {"selector": _expressed("tier", "In", "high", "none")},
    "in-none": {"selector": _expressed("tier", "In", "none")},
    "not-in": {"selector": _TIERS | _expressed("tier", "NotIn", "low", "high")},
    "not-in-absent": {"selector": _TIERS | _expressed("extra", "NotIn", "yes")},
    "exists": {"selector": _expressed("extra", "Exists")},
    "exists-not": {"selector": _TIERS | _expressed("extra", "DoesNotExist")},
    "several": {"selector": _TIERS},
}
"""References to ConfigMaps, each with both actions for missing ones."""
_LIMITED: Final = (
    "params.data.max != '5'",
    "int(params.data.max) > object.spec.replicas",
)
"""Validations that some of the ConfigMaps fail; no text depends on which one fails first."""


def parameters() -> list[tuple[str, Json]]:
    """Return the parameters with the paths of their collections."""
    return [(CONFIG_MAPS, one) for one in (LIMITS, *CONFIGURED)]


def places() -> dict[str, list[Json]]:
    """Return policies with bindings by the label of the Things that meet them."""
    made = {f"message-{number}": _placed(f"message-{number}", _said(text)) for number, text in enumerate(MESSAGES)}
    made |= {f"denial-{number}": _placed(f"denial-{number}", expression) for number, expression in enumerate(DENIALS)}
    made |= {f"absent-{number}": _unbound(f"absent-{number}", expression) for number, expression in enumerate(ABSENT)}
    return made | {f"spec-{name}": _placed(f"spec-{name}", *validations, **spec) for name, (validations, spec) in SPECS.items()}


def references() -> dict[str, list[Json]]:
    """Return policies with bindings that refer to parameters in every way, by the label of the Things that meet them."""
    made = {}
    for (name, reference), action in ((one, action) for one in REFERENCES.items() for action in ("Allow", "Deny")):
        for number, expression in enumerate(_LIMITED):
            case = f"reference-{name}-{action.lower()}-{number}"
            made[case] = policy(case, expression, param_ref=reference | {"parameterNotFoundAction": action})
    return made | _bindings()


def _bindings() -> dict[str, list[Json]]:
    """Return policies with several bindings, which refer to different parameters and take different actions.

    The reference evaluates bindings in any order, so that each outcome has one binding.
    """
    made = {}
    failing = _said("params.metadata.name + ' ' + params.data.max", "params == null || params.data.max != '5'")
    for case, listed in {
        "bindings-warn": [("tier-a", "Warn"), ("tier-b", "Warn")],
        "bindings-deny": [("tier-a", "Warn"), ("tier-b", "Deny"), ("tier-c", "Deny")],
        "bindings-missing": [("gone", "Deny"), ("tier-b", "Warn")],
        "bindings-missing-passing": [("tier-a", "Warn"), ("gone", "Deny")],
        "bindings-null": [("", "Deny"), ("tier-b", "Warn")],
        "bindings-null-only": [("", "Deny")],
        "bindings-audit": [("tier-b", "Audit"), ("tier-a", "Warn")],
        "bindings-same": [("tier-b", "Deny"), ("tier-b", "Warn")],
    }.items():
        bound = [validating_binding(f"{case}-{number}", case, action, **_referring(name)) for number, (name, action) in enumerate(listed)]
        made[case] = [policy(case, failing)[0], *bound]
    return made


def _referring(name: str) -> Json:
    return {"paramRef": {"name": name, "namespace": "default", "parameterNotFoundAction": "Deny"}} if name else {}


def _placed(case: str, *validations: str | Json, **spec: Any) -> list[Json]:
    return policy(case, *validations, param_ref=_ONE | {"parameterNotFoundAction": "Deny"}, **spec)


def _unbound(case: str, expression: str) -> list[Json]:
    return [policy(case, expression)[0], validating_binding(case, case)]
