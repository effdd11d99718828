"""The expressions of a MutatingAdmissionPolicy (compilation.go and patch/ of apiserver pkg/admission/plugin/policy/mutating)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.admission.policy.bound_policy import FAIL
from apiext.admission.policy.validator import stored_variables
from apiext.meta.limits import MAX_REVIEW_BYTES
from apiext.meta.patch import Operations
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.policies.compiler import APPLY_CONFIGURATION, JSON_PATCHES, PolicyCompiler
from apiext.schema.cel.policies.environments import Declarations
from apiext.schema.cel.policies.evaluation import MAX_POLICY_COST, Evaluation, OutOfBudgetError
from apiext.schema.cel.policies.match_conditions import ConditionsResult, compile_match_conditions
from apiext.schema.cel.policies.native_values import configuration_value, mistyped_structs, operation_value
from apiext.schema.cel.values.structs import OBJECT, StructValue

if TYPE_CHECKING:
    from apiext.schema.cel.policies.compiler import CompiledExpression
    from apiext.schema.cel.policies.inputs import Inputs

JSON_PATCH: Final = "JSONPatch"


class MutationFaultError(Exception):
    """A mutation has no result. The text is the reference's."""


@dataclass(frozen=True, slots=True, eq=False)
class Mutation:
    """A mutation of a policy."""

    is_json_patch: bool
    expression: CompiledExpression

    def operations(self, value: Any) -> Operations:
        """Return the operations of a JSON patch for the value of the expression.

        Raises:
            MutationFaultError: they are no JSON.
        """
        return [_operation(one) for one in value]

    def configuration(self, value: Any) -> dict[str, Any]:
        """Return the apply configuration for the value of the expression.

        Raises:
            MutationFaultError: it has a type with a wrong name, or is no JSON.
        """
        _check_types(value, OBJECT)
        try:
            found: dict[str, Any] = configuration_value(value, self.expression.root)
        except CelError as error:
            raise MutationFaultError("invalid return type: *dynamic.ObjectVal") from error
        return found


class PolicyMutator:
    """The compiled form of a policy. Expressions that are not valid fail when they are evaluated."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Compile the spec of a stored policy."""
        params = spec.get("paramKind") is not None
        compiler = PolicyCompiler(composed=True)
        compiler.compile_variables(stored_variables(spec), Declarations(params=params))
        conditions = spec.get("matchConditions")
        self._conditions = compile_match_conditions(conditions, compiler, params=params) if conditions else None
        self._fails_closed = (spec.get("failurePolicy") or FAIL) == FAIL
        declarations = Declarations(params=params, patches=True)
        self.mutations = [_compile(one, compiler, declarations) for one in spec.get("mutations") or ()]
        """The mutations in their order."""
        self._variables = compiler.variables

    def meets_conditions(self, inputs: Inputs, *, inline: bool) -> ConditionsResult | None:
        """Return whether a write meets the match conditions, None without conditions.

        Raises:
            HeavyWorkError: that would take long.
        """
        return None if self._conditions is None else self._conditions.evaluate(inputs, inline=inline)

    def evaluate(self, mutation: Mutation, inputs: Inputs, *, inline: bool) -> Operations | dict[str, Any]:
        """Return the operations of a JSON patch, or an apply configuration.

        Raises:
            MutationFaultError: there is none, or it is larger than a webhook's review may be.
            HeavyWorkError: the evaluation would take long.
        """
        if mutation.expression.error:
            raise MutationFaultError(mutation.expression.error)
        try:
            outcome = Evaluation(inputs, self._variables, limit=MAX_POLICY_COST, inline=inline).run(mutation.expression)
        except OutOfBudgetError as error:
            raise MutationFaultError(str(error)) from error
        if outcome.error:
            raise MutationFaultError(outcome.error)
        found = mutation.operations(outcome.value) if mutation.is_json_patch else mutation.configuration(outcome.value)
        if _characters(found, MAX_REVIEW_BYTES) > MAX_REVIEW_BYTES:
            raise MutationFaultError(f"the mutation is larger than {MAX_REVIEW_BYTES} bytes")
        return found


def _compile(source: Mapping[str, Any], compiler: PolicyCompiler, declarations: Declarations) -> Mutation:
    is_json_patch = source.get("patchType") == JSON_PATCH
    member = source.get("jsonPatch" if is_json_patch else "applyConfiguration") or {}
    returns = JSON_PATCHES if is_json_patch else APPLY_CONFIGURATION
    return Mutation(is_json_patch, compiler.compile(member.get("expression") or "", returns, declarations))


def _characters(value: Any, limit: int) -> int:
    """Return about the number of characters of JSON, at most some above the limit."""
    found, waiting = 0, [value]
    while waiting and found <= limit:
        member = waiting.pop()
        found += len(member) if isinstance(member, str) else 1
        if isinstance(member, dict):
            waiting += (*member, *member.values())
        elif isinstance(member, list):
            waiting += member
    return found


def _operation(value: StructValue) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": value["op"], "path": value["path"]}
    if value["from"]:
        operation["from"] = value["from"]
    if value.has("value"):
        member = value["value"]
        if isinstance(member, StructValue):
            _check_types(member, member.cel_type.name)
        try:
            operation["value"] = operation_value(member)
        except CelError as error:
            raise MutationFaultError(f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}") from error
    return operation


def _check_types(value: StructValue, path: str) -> None:
    faults: Sequence[str] = list(mistyped_structs(value, path))
    if faults:
        raise MutationFaultError(f"type mismatch: {chr(10).join(faults)}")
