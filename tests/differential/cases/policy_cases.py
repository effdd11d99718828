"""Policies and what they answer to writes."""

from collections.abc import Sequence
from typing import Any, Final

from hack.lib.differential.pair import Step
from tests.differential.cases.admission_objects import GROUP, THINGS, Json, create, thing
from tests.differential.cases.policy_expressions import EXPRESSIONS, PARAMETER, subject
from tests.differential.helpers.write_steps import MERGE, applied
from tests.support.builders.admission import rule, validating_binding, validating_policy

CONFIG_MAP: Final = {"apiVersion": "v1", "kind": "ConfigMap"}
RULES: Final = [rule("things", group=GROUP)]
NAMED: Final = {"name": PARAMETER["metadata"]["name"], "namespace": "default", "parameterNotFoundAction": "Deny"}


def selected(case: str) -> Json:
    """Return constraints for the Things with a label."""
    return {"resourceRules": RULES, "objectSelector": {"matchLabels": {"case": case}}}


def policy(case: str, *validations: str | Json, param_ref: Json | None = None, actions: Sequence[str] = (), **spec: Any) -> list[Json]:
    """Return a policy for the Things with a label, and its binding, with the ConfigMap as parameter."""
    given = {"paramKind": CONFIG_MAP, "matchConstraints": selected(case)} | spec
    made = validating_policy(case, *validations, **{key: value for key, value in given.items() if value is not None})
    reference = {} if made["spec"].get("paramKind") is None else {"paramRef": param_ref or NAMED}
    return [made, validating_binding(case, case, *actions, **reference)]


def step(case: str) -> Step:
    """Return a write that meets the policies of a case."""
    return create(subject(case=case), "?dryRun=All")


BANK: Final = {f"case-{number}": expression for number, expression in enumerate(EXPRESSIONS)}
"""Expressions by the label of the Things that meet them."""


def updates(case: str) -> list[Step]:
    """Return writes of a Thing that exists while they run."""
    one = f"{THINGS}/subject"
    return [
        create(subject(case=case)),
        Step("PATCH", one, {"spec": {"text": "patched"}}, MERGE),
        Step("PUT", one, subject(case=case)),
        applied(one, thing("subject", texts=["q"], named=[{"name": "two", "value": "w"}]), "fieldManager=ann&force=true"),
        applied(one, thing("subject", texts=["q"]), "fieldManager=ann"),
        Step("PATCH", f"{one}/status", {"status": {"phase": "x"}}, MERGE),
        Step("GET", one),
        Step("DELETE", one),
        applied(one, subject(case=case), "fieldManager=ann"),
        Step("DELETE", one),
    ]
