"""Policies with messages, reasons, variables, conditions and failures."""

from collections.abc import Sequence
from typing import Any, Final

from tests.differential.cases.admission_objects import GROUP, Json
from tests.differential.cases.policy_cases import CONFIG_MAP, policy, selected
from tests.support.builders.admission import rule, validating_binding, validating_policy

_FALSE: Final = "object.spec.replicas == 4"
_BROKEN: Final = "object.spec.none == 4"


def _validation(expression: str = _FALSE, **members: Any) -> Json:
    return {"expression": expression} | members


def _said(expression: str, **members: Any) -> Json:
    return _validation(messageExpression=expression, **members)


def _variables(**expressions: str) -> list[Json]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def _conditions(*expressions: str) -> list[Json]:
    return [{"name": f"c{number}", "expression": expression} for number, expression in enumerate(expressions)]


def _annotations(**expressions: str) -> list[Json]:
    return [{"key": key, "valueExpression": expression} for key, expression in expressions.items()]


_ALLOWED: Final = "authorizer.group('').resource('pods').namespace('default').check('create').allowed()"
MESSAGES: Final[dict[str, Json]] = {
    "message": _validation(message="too many"),
    "message-spaces": _validation(message="  too many  "),
    "message-unicode": _validation(message='größer "als" <4> & \\'),
    "message-long": _validation(message="x" * 1000),
    "said": _said("'has ' + string(object.spec.replicas) + ' of ' + params.data.max"),
    "said-and-message": _said("'said'", message="written"),
    "said-empty": _said("''", message="written"),
    "said-spaces": _said("'   '"),
    "said-trimmed": _said("'  x  '"),
    "said-newline": _said("'a\\nb'", message="written"),
    "said-tab": _said("'a\\tb'"),
    "said-long": _said("'" + "x" * 5100 + "'", message="written"),
    "said-5120": _said("'" + "x" * 5120 + "'", message="written"),
    "said-5121": _said("'" + "x" * 5121 + "'", message="written"),
    "said-broken": _said(f"string({_BROKEN})", message="written"),
    "said-broken-only": _said("object.spec.none + 'x'"),
    "said-number": _said("string(object.spec.number)", message="written"),
    "said-null": _said("string(object.spec.maybe)", message="written"),
    "said-text": _said("string(object.spec.text)"),
    "said-format": _said("'%s in %s: %d'.format([object.metadata.name, request.namespace, object.spec.replicas])"),
    "said-variable": _said("'x' + string(1) + params.metadata.name + namespaceObject.metadata.name"),
    "reason-forbidden": _validation(reason="Forbidden", message="no"),
    "reason-invalid": _validation(reason="Invalid"),
    "reason-large": _validation(reason="RequestEntityTooLarge", message="big"),
    "reason-broken": _validation(_BROKEN, reason="Forbidden", message="no"),
    "spaces": _validation("  object.spec.replicas == 4  "),
    "lines": _validation("object.spec.replicas == 4 ||\n  object.spec.replicas == 5"),
}
"""A failing validation with a message or reason."""

_BROKEN_VARIABLES: Final = _variables(a="object.spec.none", b="object.spec.maybe", c="1/0", d="variables.a")
_HAS: Final = (
    "has(variables.a)",
    "!has(variables.a)",
    "has(variables.a) && has(variables.a)",
    "has(variables.a) || has(variables.b)",
    "has(variables.b)",
    "has(variables.c) && false",
    "has(variables.c) || true",
    "has(variables.c) ? false : false",
    "has(variables.d) && !has(variables.d)",
    "has(variables.a.x)",
    "has(variables.a.x) || has(variables.b.x)",
    "[1].exists(x, has(variables.c) && x > 1)",
    "variables.?a.hasValue()",
    "variables.?a.orValue('x') == 'y'",
    "optional.of(variables.b).hasValue() && has(variables.a) && variables.a == 1",
)
"""What tests fail on variables that cannot be evaluated."""
SPECS: Final[dict[str, tuple[Sequence[str | Json], Json]]] = {
    "two-fail": (["false", _validation(message="second")], {}),
    "second-fails": (["true", _validation(message="second")], {}),
    "broken-first": ([_BROKEN, "false"], {}),
    "broken-last": (["true", _BROKEN], {}),
    "ignored": ([_BROKEN], {"failurePolicy": "Ignore"}),
    "ignored-and-false": ([_BROKEN, "false"], {"failurePolicy": "Ignore"}),
    "variables": (
        ["variables.b == 7"],
        {"variables": _variables(a="object.spec.replicas", b="variables.a + variables.a")},
    ),
    "variables-said": (
        [_said("variables.text + ' is ' + variables.list.join('+')")],
        {"variables": _variables(text="object.metadata.name", list="object.spec.texts.map(t, variables.text + t)")},
    ),
    "variables-broken": (["variables.a == 1"], {"variables": _variables(a="object.spec.none")}),
    "variables-broken-unused": (["object.spec.replicas == 9"], {"variables": _variables(a="object.spec.none")}),
    "variables-broken-twice": (["variables.b == 1"], {"variables": _variables(a="object.spec.none", b="variables.a + 1")}),
    "variables-broken-guarded": (["has(object.spec.none) && variables.a == 1"], {"variables": _variables(a="object.spec.none")}),
    **{f"variables-broken-has-{number}": ([expression], {"variables": _BROKEN_VARIABLES}) for number, expression in enumerate(_HAS)},
    "variables-types": (
        ["variables.l.size() == variables.n && variables.m.a == variables.t"],
        {"variables": _variables(l="[1, 2]", n="2", m="{'a': 'x'}", t="'y'")},
    ),
    "variables-optional": (["variables.o.hasValue()"], {"variables": _variables(o="object.spec.?none")}),
    "variables-authorizer": (
        ["variables.d.allowed() && !variables.d.errored() && variables.c.check('get').reason() == 'x'"],
        {"variables": _variables(c="authorizer.path('/x')", d="authorizer.requestResource.check('get')")},
    ),
    "variables-params": (["variables.p.max == '6'"], {"variables": _variables(p="params.data")}),
    "variables-time": (["variables.t.getFullYear() == 1"], {"variables": _variables(t="timestamp(object.spec.when)")}),
    "conditions-true": (["false"], {"matchConditions": _conditions("true", "object.spec.replicas == 3")}),
    "conditions-false": (["false"], {"matchConditions": _conditions("true", "object.spec.replicas == 4")}),
    "conditions-params": (["false"], {"matchConditions": _conditions("params.data.max == '5'")}),
    "conditions-broken": (["false"], {"matchConditions": _conditions("true", _BROKEN)}),
    "conditions-broken-false": (["false"], {"matchConditions": _conditions(_BROKEN, "false")}),
    "conditions-broken-twice": (["false"], {"matchConditions": _conditions(_BROKEN, "object.spec.other == 1")}),
    "conditions-ignored": (["false"], {"matchConditions": _conditions(_BROKEN), "failurePolicy": "Ignore"}),
    "conditions-authorizer": (["false"], {"matchConditions": _conditions(_ALLOWED)}),
    "annotations": (["false"], {"auditAnnotations": _annotations(a="'x'", b="null")}),
    "annotations-broken": (["true"], {"auditAnnotations": _annotations(a="object.spec.none + 'x'")}),
    "annotations-number": (["true"], {"auditAnnotations": _annotations(a="string(object.spec.replicas)")}),
    "annotations-ignored": (["true"], {"auditAnnotations": _annotations(a="object.spec.none + 'x'"), "failurePolicy": "Ignore"}),
    "annotations-only": ([], {"auditAnnotations": _annotations(a="string(object.metadata.name)")}),
    "cost-call": ([" && ".join([_ALLOWED] * 3)], {}),
    "cost-budget": (["dyn(true) && " + " && ".join([_ALLOWED] * 2)] * 16, {}),
    "cost-loops": (["".join(f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all({name}, " for name in "abcdef") + "true" + ")" * 6], {}),
    "cost-loops-ignored": (
        ["".join(f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all({name}, " for name in "abcdef") + "true" + ")" * 6, "false"],
        {"failurePolicy": "Ignore"},
    ),
    "cost-budget-variables": (
        [f"variables.v{number} && {number} > 0" for number in range(1, 17)],
        {"variables": _variables(**{f"v{number}": " && ".join([_ALLOWED] * 2) for number in range(1, 17)})},
    ),
    "cost-budget-conditions": (["false"], {"matchConditions": _conditions(*[" && ".join([_ALLOWED] * 2)] * 8)}),
    "cost-budget-ignored": (["dyn(true) && " + " && ".join([_ALLOWED] * 2)] * 16, {"failurePolicy": "Ignore"}),
    "cost-message": (
        ["dyn(true) && " + _ALLOWED] * 28 + [_said("object.spec.texts.map(t, object.spec.texts.map(u, t + u).join('')).join('')")],
        {},
    ),
}
"""Validations and other members of a policy's spec."""

_MISSING: Final = {"name": "missing", "namespace": "default"}
_SELECTED: Final = {"selector": {"matchLabels": {"of": "policies"}}}
PARAMS: Final[dict[str, tuple[Json | None, Json | None]]] = {
    "param-missing-deny": (CONFIG_MAP, _MISSING | {"parameterNotFoundAction": "Deny"}),
    "param-missing-allow": (CONFIG_MAP, _MISSING | {"parameterNotFoundAction": "Allow"}),
    "param-selected": (CONFIG_MAP, _SELECTED | {"namespace": "default", "parameterNotFoundAction": "Deny"}),
    "param-selected-own-namespace": (CONFIG_MAP, _SELECTED | {"parameterNotFoundAction": "Deny"}),
    "param-selected-none": (CONFIG_MAP, {"selector": {"matchLabels": {"of": "none"}}, "parameterNotFoundAction": "Deny"}),
    "param-selected-none-allow": (CONFIG_MAP, {"selector": {"matchLabels": {"of": "none"}}, "parameterNotFoundAction": "Allow"}),
    "param-own-namespace": (CONFIG_MAP, {"name": "limits", "parameterNotFoundAction": "Deny"}),
    "param-other-namespace": (CONFIG_MAP, {"name": "limits", "namespace": "kube-system", "parameterNotFoundAction": "Deny"}),
    "param-without-reference": (CONFIG_MAP, None),
    "param-without-kind": (None, {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}),
    "param-unknown-kind": ({"apiVersion": "no.example.com/v1", "kind": "None"}, {"name": "x", "parameterNotFoundAction": "Deny"}),
    "param-unknown-version": ({"apiVersion": f"{GROUP}/v9", "kind": "Thing"}, {"name": "x", "parameterNotFoundAction": "Deny"}),
    "param-custom": ({"apiVersion": f"{GROUP}/v1", "kind": "Plain"}, {"name": "limit", "parameterNotFoundAction": "Deny"}),
    "param-custom-namespace": (
        {"apiVersion": f"{GROUP}/v1", "kind": "Plain"},
        {"name": "limit", "namespace": "default", "parameterNotFoundAction": "Deny"},
    ),
    "param-custom-v2": ({"apiVersion": f"{GROUP}/v2", "kind": "Thing"}, {"name": "limit", "parameterNotFoundAction": "Deny"}),
    "param-custom-all": ({"apiVersion": f"{GROUP}/v1", "kind": "Thing"}, {"selector": {}, "parameterNotFoundAction": "Deny"}),
}
"""Kinds of parameters, and references of bindings."""
_SHOW: Final = _validation(
    "false",
    messageExpression="params == null ? 'none' : params.metadata.name + ' ' + params.kind + ' ' +"
    " string(has(params.spec) ? params.spec.replicas : 0)",
)


ACTIONS: Final = {
    "action-deny": ["Deny"],
    "action-warn": ["Warn"],
    "action-audit": ["Audit"],
    "action-deny-audit": ["Deny", "Audit"],
    "action-warn-audit": ["Warn", "Audit"],
}


def specs() -> dict[str, list[Json]]:
    """Return policies with bindings by the label of the Things that meet them."""
    made = {case: policy(case, validation) for case, validation in MESSAGES.items()}
    made |= {case: policy(case, *validations, **spec) for case, (validations, spec) in SPECS.items()}
    made |= {case: _parametrized(case, kind, reference) for case, (kind, reference) in PARAMS.items()}
    made |= {case: policy(case, "false", _validation(_BROKEN), actions=actions) for case, actions in ACTIONS.items()}
    return made | _bindings()


def _parametrized(case: str, kind: Json | None, reference: Json | None) -> list[Json]:
    spec: Json = {"matchConstraints": selected(case)} | ({"paramKind": kind} if kind else {})
    binding = validating_binding(case, case, **({"paramRef": reference} if reference else {}))
    return [validating_policy(case, _SHOW if kind else "false", **spec), binding]


def _bindings() -> dict[str, list[Json]]:
    """Return policies with several bindings, and with bindings that match less."""
    several = [_plain("several-bindings"), *_bound("several-bindings", "b"), *_bound("several-bindings", "c", actions=["Warn"])]
    named = {"resourceRules": [rule("things", group=GROUP) | {"resourceNames": ["subject"]}]}
    others = {"resourceRules": [rule("things", group=GROUP) | {"resourceNames": ["other"]}]}
    excluded = {"excludeResourceRules": [rule("things", group=GROUP, operations=["CREATE"])]}
    spaces = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}}
    found = {
        "several-bindings": several,
        "no-binding": [_plain("no-binding")],
        "unknown-policy": [validating_binding("unknown-policy", "no-such-policy")],
    }
    for name, resources in (("named", named), ("others", others), ("excluded", excluded), ("spaces", spaces)):
        found[f"binding-{name}"] = [_plain(f"binding-{name}"), *_bound(f"binding-{name}", "x", matchResources=resources)]
        found[f"policy-{name}"] = [_constrained(f"policy-{name}", resources), *_bound(f"policy-{name}", "x")]
    return found


def _plain(name: str) -> Json:
    return validating_policy(name, "false", matchConstraints=selected(name))


def _constrained(name: str, resources: Json) -> Json:
    return validating_policy(name, "false", matchConstraints=selected(name) | resources)


def _bound(policy_name: str, *names: str, actions: Sequence[str] = (), **spec: Any) -> list[Json]:
    return [validating_binding(f"{policy_name}-{name}", policy_name, *actions, **spec) for name in names]
