"""admissionregistration.k8s.io/v1: webhook configurations, policies and their bindings."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS
from apiext.api.endpoints.responsewriters.table import NAME, Cell, Column, TableConvertor
from apiext.api.serving.builtin.printing import AGE, text
from apiext.api.serving.builtin.served_kind import ServedKind, ServedSubresource
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.admissionregistration.kinds import (
    MUTATING_BINDING_KIND,
    MUTATING_POLICY_KIND,
    MUTATING_WEBHOOKS_KIND,
    VALIDATING_BINDING_KIND,
    VALIDATING_POLICY_KIND,
    VALIDATING_WEBHOOKS_KIND,
)
from apiext.resources.registry.admissionregistration.strategies import ValidatingPolicyStatusStrategy

_UNSET: Final = "<unset>"
_CONDITION_KEYS: Final = {"spec.matchConditions": "name"}
_WEBHOOK_KEYS: Final = {**OBJECT_META_KEYS, ".webhooks": "name", "webhooks.matchConditions": "name"}


def _count(*path: str) -> Cell:
    """Return a cell function that prints the length of a list."""

    def cell(obj: Object, _now: datetime) -> int:
        value: Any = obj
        for name in path:
            value = value.get(name) or {}
        return len(value)

    return cell


def _param_kind(policy: Object, _now: datetime) -> str:
    kind = policy["spec"].get("paramKind")
    return _UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _policy_name(binding: Object, _now: datetime) -> str:
    return str(binding["spec"].get("policyName", ""))


def _param_ref(binding: Object, _now: datetime) -> str:
    reference = binding["spec"].get("paramRef") or {}
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return _selector(reference["selector"]) if "selector" in reference else _UNSET


def _selector(selector: Object) -> str:
    """Print a selector as Go prints its message."""
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.get("matchLabels", {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},Values:[{' '.join(one.get('values', ()))}],}},"
        for one in selector.get("matchExpressions", ())
    )
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"


_WEBHOOKS: Final = TableConvertor(
    (
        NAME,
        Column(
            "Webhooks",
            "integer",
            description="Webhooks indicates the number of webhooks registered in this configuration",
            cell=_count("webhooks"),
        ),
        AGE,
    )
)
_PARAM_KIND: Final = text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy", _param_kind)
_BINDINGS: Final = TableConvertor(
    (
        NAME,
        text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to", _policy_name),
        text("ParamRef", "ParamRef indicates the param resource which sets the configuration param", _param_ref),
        AGE,
    )
)
VALIDATING_WEBHOOKS: Final = ServedKind(kind=VALIDATING_WEBHOOKS_KIND, table=_WEBHOOKS, strategic_keys=_WEBHOOK_KEYS)
MUTATING_WEBHOOKS: Final = ServedKind(kind=MUTATING_WEBHOOKS_KIND, table=_WEBHOOKS, strategic_keys=_WEBHOOK_KEYS)
VALIDATING_POLICIES: Final = ServedKind(
    kind=VALIDATING_POLICY_KIND,
    table=TableConvertor(
        (
            NAME,
            Column(
                "Validations",
                "integer",
                description="Validations indicates the number of validation rules defined in this configuration",
                cell=_count("spec", "validations"),
            ),
            _PARAM_KIND,
            AGE,
        )
    ),
    strategic_keys={**OBJECT_META_KEYS, **_CONDITION_KEYS, "spec.variables": "name"},
    subresources={"status": ServedSubresource(strategy=ValidatingPolicyStatusStrategy())},
)
MUTATING_POLICIES: Final = ServedKind(
    kind=MUTATING_POLICY_KIND,
    table=TableConvertor(
        (
            NAME,
            Column(
                "Mutations",
                "integer",
                description="Mutation indicates the number of mutations rules defined in this configuration",
                cell=_count("spec", "mutations"),
            ),
            _PARAM_KIND,
            AGE,
        )
    ),
    strategic_keys={**OBJECT_META_KEYS, **_CONDITION_KEYS},
)
VALIDATING_BINDINGS: Final = ServedKind(kind=VALIDATING_BINDING_KIND, table=_BINDINGS)
MUTATING_BINDINGS: Final = ServedKind(kind=MUTATING_BINDING_KIND, table=_BINDINGS)
KINDS: Final = {
    served.kind.resource.plural: served
    for served in (VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS, VALIDATING_POLICIES, MUTATING_POLICIES, VALIDATING_BINDINGS, MUTATING_BINDINGS)
}
"""The kinds by plural."""
