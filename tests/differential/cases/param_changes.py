"""Policies whose parameters come, change and go while they apply."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.admission_objects import GROUP, THINGS, Json, thing
from tests.differential.cases.param_values import CONFIG_MAPS, THING
from tests.differential.cases.policy_cases import CONFIG_MAP, policy, selected
from tests.differential.helpers.write_steps import MERGE
from tests.support.builders.admission import applying, json_patching, mutating_binding, mutating_policy, rule

_NAME: Final = "changing"
_LABELS: Final = {"changes": "yes"}
_PATHS: Final = (f"{CONFIG_MAPS}/{_NAME}", f"{THINGS}/{_NAME}")
_MISSING: Final = "no params found"
_KINDS: Final[Mapping[str, tuple[Json, str, str]]] = {
    "map": (CONFIG_MAP, "params.data.state", "params.data.max"),
    "thing": (THING, "params.spec.text", "params.spec.replicas"),
}
"""Kinds of the parameters, a text that shows their state, and a number."""
_REFERENCES: Final[Mapping[str, Json]] = {"name": {"name": _NAME}, "selector": {"selector": {"matchLabels": _LABELS}}}


def _created(state: str, number: int) -> list[Step]:
    metadata = {"name": _NAME, "labels": _LABELS}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"state": state, "max": str(number)}}
    return [
        Step("POST", CONFIG_MAPS, config_map),
        Step("POST", THINGS, thing(_NAME, metadata=metadata, text=state, replicas=number)),
    ]


def _patched(state: str, number: int | None, **metadata: Any) -> list[Step]:
    text = None if number is None else str(number)
    bodies: tuple[Json, Json] = ({"data": {"state": state, "max": text}}, {"spec": {"text": state, "replicas": number}})
    return [Step("PATCH", path, {"metadata": metadata} | body, MERGE) for path, body in zip(_PATHS, bodies, strict=True)]


CHANGES: Final[Mapping[str, tuple[list[Step], Mapping[str, str]]]] = {
    "none at first": ([], {"name": _MISSING, "selector": _MISSING}),
    "created": (_created("state-1", 2), {"name": "state-1", "selector": "state-1"}),
    "changed": (_patched("state-2", 7), {"name": "state-2", "selector": "state-2"}),
    "without a number": (_patched("state-3", None), {"name": "state-3", "selector": "state-3"}),
    "without labels": (_patched("state-4", 1, labels={"changes": None}), {"name": "state-4", "selector": _MISSING}),
    "with labels": (_patched("state-5", 1, labels=_LABELS), {"name": "state-5", "selector": "state-5"}),
    "deleted": ([Step("DELETE", path) for path in _PATHS], {"name": _MISSING, "selector": _MISSING}),
    "created again": (_created("state-6", 3), {"name": "state-6", "selector": "state-6"}),
    "deleted again": ([Step("DELETE", path) for path in _PATHS], {"name": _MISSING, "selector": _MISSING}),
}
"""Changes, and by the way of reference a text in the answers of policies that deny without a parameter."""


def changing() -> Iterator[tuple[str, str, list[Json]]]:
    """Yield cases with the way of their reference, and policies with bindings. All show the state of the parameter.

    Those whose names end in `deny` deny without a parameter, too.
    """
    for kind, (param_kind, text, number) in _KINDS.items():
        for way, reference in _REFERENCES.items():
            for action in ("Allow", "Deny"):
                case, ref = f"{kind}-{way}", reference | {"parameterNotFoundAction": action}
                validations: list[str | Json] = [
                    {"expression": "false", "messageExpression": f"{text} + ''"},
                    f"int({number}) > 5",
                    f"has({number}) && int({number}) < 2",
                ]
                name = f"validating-{case}-{action.lower()}"
                actions = ["Warn" if action == "Allow" else "Deny"]
                yield name, way, policy(name, *validations, paramKind=param_kind, param_ref=ref, actions=actions)
                more = f", replicas: int({number})" if action == "Allow" else ""
                for patch, mutation in {
                    "applying": applying(f"Object{{spec: Object.spec{{text: {text}{more}}}}}"),
                    "patching": json_patching(f"[JSONPatch{{op: 'add', path: '/spec/text', value: {text}}}]"),
                }.items():
                    name = f"{patch}-{case}-{action.lower()}"
                    yield name, way, _mutating(name, mutation, param_kind, ref)


def _mutating(name: str, mutation: Json, param_kind: Json, reference: Json) -> list[Json]:
    constraints = selected(name) | {"resourceRules": [rule("things", group=GROUP, operations=["CREATE"])]}
    made = mutating_policy(name, mutation, paramKind=param_kind, matchConstraints=constraints)
    return [made, mutating_binding(name, name, paramRef=reference)]
