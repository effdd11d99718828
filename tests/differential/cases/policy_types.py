"""Policies whose expressions do not fit the types of what they match."""

from typing import Any, Final

from tests.differential.cases.admission_objects import GROUP, Json
from tests.differential.cases.policy_cases import CONFIG_MAP
from tests.support.builders.admission import rule, validating_policy

_THINGS: Final = rule("things", group=GROUP, versions=["v1"])
_BOTH: Final = rule("things", group=GROUP, versions=["v1", "v2"])
_PLAINS: Final = rule("things", "plains", group=GROUP, versions=["v1"])
_THING: Final = {"apiVersion": f"{GROUP}/v1", "kind": "Thing"}


def _policy(*validations: str | Json, rules: tuple[Json, ...] = (_THINGS,), **spec: Any) -> Json:
    return validating_policy("types", *validations, rules=rules, **spec)


def _said(expression: str) -> Json:
    return {"expression": "true", "messageExpression": expression}


POLICIES: Final[dict[str, Json]] = {
    "fits": _policy("object.spec.replicas > 1", "object.spec.text == 'x'", "object.metadata.name != ''"),
    "unknown-field": _policy("object.spec.none > 1"),
    "unknown-fields": _policy("object.spec.none > 1", "object.none == 'x'", "object.metadata.none == 'x'"),
    "wrong-types": _policy("object.spec.replicas == 'x'", "object.spec.text > 1", "object.spec.texts == 1"),
    "lists": _policy("object.spec.texts.all(t, t > 1)", "object.spec.named.all(n, n.none == 'x')", "object.spec.map.a > 1"),
    "free": _policy("object.spec.free.any.thing == 'x'", "object.spec.many == 'x' || object.spec.many == 1", "object.spec.free == 'x'"),
    "status": _policy("object.status.none == 1", "object.status.replicas == 'x'"),
    "old": _policy("oldObject.spec.none == 1", "oldObject.spec.replicas == 'x'"),
    "both-versions": _policy("object.spec.none == 1", rules=(_BOTH,)),
    "two-kinds": _policy("object.spec.none == 1", "object.kind == 1", rules=(_PLAINS,)),
    "wildcard": _policy("object.spec.none == 1", rules=(rule("*", group=GROUP, versions=["v1"]),)),
    "wildcard-version": _policy("object.spec.none == 1", rules=(rule("things", group=GROUP),)),
    "subresource": _policy("object.spec.none == 1", rules=(rule("things/status", "things/scale", group=GROUP, versions=["v1"]),)),
    "unknown-resource": _policy("object.spec.none == 1", rules=(rule("others", group=GROUP, versions=["v1"]),)),
    "config-maps": _policy("object.data.a == 1", "object.none == 1", rules=(rule("configmaps", group="", versions=["v1"]),)),
    "params": _policy("params.data.a == 1", "params.none == 1", paramKind=CONFIG_MAP),
    "params-custom": _policy("params.spec.none == 1", "params.spec.replicas == 'x'", paramKind=_THING),
    "params-unknown": _policy("params.spec.none == 1", paramKind={"apiVersion": "no.example.com/v1", "kind": "None"}),
    "message": _policy(_said("string(object.spec.none)"), _said("string(object.spec.text.none)"), _said("object.spec.text + string(1)")),
    "variables": _policy(
        "variables.a == 'x'",
        "variables.b == 1",
        variables=[{"name": "a", "expression": "object.spec.replicas"}, {"name": "b", "expression": "object.spec.none"}],
    ),
    "conditions": _policy("true", matchConditions=[{"name": "c", "expression": "object.spec.none == 1"}]),
    "annotations": _policy("true", auditAnnotations=[{"key": "a", "valueExpression": "string(object.spec.none)"}]),
}
"""Policies by name."""


def named() -> list[Json]:
    """Return the policies with their names."""
    return [made | {"metadata": {"name": f"types-{name}"}} for name, made in POLICIES.items()]
