"""MutatingAdmissionPolicy: changes objects by expressions (apiserver pkg/admission/plugin/policy/mutating/dispatcher.go)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.admission.object_interfaces import UnpatchableError
from apiext.api.admission.policy.bound_policy import FAIL, BoundPolicies
from apiext.api.admission.policy.counting import NO_ERROR, error_type, observe_conditions
from apiext.api.admission.policy.invocations import BindingMatch, PolicyFault, PolicySelection
from apiext.api.admission.policy.policy_expressions import stored_variables
from apiext.api.admission.policy.policy_request import PolicyRequest
from apiext.api.admission.sources import AdmissionPhase
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_values
from apiext.base.meta.limits import MAX_INLINE_COPIES, MAX_REVIEW_BYTES
from apiext.base.meta.patch import Operations, PatchError, PatchTestError, apply_operations
from apiext.base.meta.request import AdmissionOperation
from apiext.base.scheduling.inline_work import current_work
from apiext.base.scheduling.side_thread import aside
from apiext.base.scheduling.time_slice import Pace
from apiext.schema.cel.errors import CelError
from apiext.schema.cel.policies.compiler import APPLY_CONFIGURATION, JSON_PATCHES, PolicyCompiler
from apiext.schema.cel.policies.environments import Declarations
from apiext.schema.cel.policies.evaluation import MAX_POLICY_COST, Evaluation, OutOfBudgetError
from apiext.schema.cel.policies.match_conditions import ConditionsResult, compile_match_conditions
from apiext.schema.cel.policies.native_values import configuration_value, mistyped_structs, operation_value, typed_object, typed_request
from apiext.schema.cel.values.structs import OBJECT, StructValue

if TYPE_CHECKING:
    from apiext.api.admission.metrics import AdmissionStats
    from apiext.api.admission.object_interfaces import ObjectInterfaces
    from apiext.api.admission.sources import AdmissionSources
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.schema.cel.policies.compiler import CompiledExpression
    from apiext.schema.cel.policies.inputs import Inputs

_INVALID: Final = "Invalid"
_IF_NEEDED: Final = "IfNeeded"
_BASE64: Final = "illegal base64 data"
_MAX_INLINE_OPERATIONS: Final = 100
"""Operations of a JSON patch above which they are not applied on the event loop."""

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

    def meets_conditions(self, inputs: Inputs) -> ConditionsResult | None:
        """Return whether a write meets the match conditions, None without conditions."""
        return None if self._conditions is None else self._conditions.evaluate(inputs)

    def evaluate(self, mutation: Mutation, inputs: Inputs) -> Operations | dict[str, Any]:
        """Return the operations of a JSON patch, or an apply configuration.

        Raises:
            MutationFaultError: there is none, or it is larger than a webhook's review may be.
        """
        if mutation.expression.error:
            raise MutationFaultError(mutation.expression.error)
        try:
            outcome = Evaluation(inputs, self._variables, limit=MAX_POLICY_COST).run(mutation.expression)
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


@dataclass(slots=True)
class _Versioned:
    """The new object in a version, with what mutations in this version have changed."""

    obj: Object | None
    is_mutated: bool = False


@dataclass(frozen=True, slots=True)
class _Fault:
    fault: PolicyFault
    reason: str = ""


class MutatingAdmissionPolicies(Admission):
    """Applies the mutating policies that match a write, in the order of their names and those of their bindings."""

    name = "MutatingAdmissionPolicy"
    operations = frozenset({AdmissionOperation.CREATE, AdmissionOperation.UPDATE})

    def __init__(self, sources: AdmissionSources) -> None:
        self._namespaces = sources.namespaces
        self._stats = sources.stats
        self._selection = PolicySelection(sources, AdmissionPhase.MUTATING, BoundPolicies(PolicyMutator))

    async def admit(self, attributes: Attributes) -> None:
        """Apply the policies. A policy that fails is skipped or rejects the write, by its failurePolicy.

        Raises:
            StatusError: a policy rejects the write.
        """
        policies = await self._selection.candidates(attributes)
        objects = attributes.objects
        if not policies or objects is None:
            return
        request = PolicyRequest(attributes, self._namespaces)
        faults: list[_Fault] = []
        matches: list[BindingMatch[PolicyMutator]] = []
        versions: dict[GroupVersionKind, _Versioned] = {}
        for policy in policies:
            for match in await self._selection.matches(policy, attributes):
                if isinstance(match, PolicyFault):
                    faults.append(_Fault(match))
                elif (fault := await _prepare(match, request, versions)) is not None:
                    faults.append(fault)
                else:
                    matches.append(match)
        if any(match.params for match in matches):
            faults += await _Dispatch(self._selection, request, objects, versions, self._stats).run(matches)
        faults = [each for each in faults if each.fault.policy.fails_closed]
        if faults:
            raise _denial(attributes, faults)


async def _prepare(
    match: BindingMatch[PolicyMutator], request: PolicyRequest, versions: dict[GroupVersionKind, _Versioned]
) -> _Fault | None:
    """Convert the objects to the version of a match. Return the fault if that is impossible."""
    kind = match.matched.kind
    if kind not in versions:
        try:
            versions[kind] = _Versioned(await request.versioned(request.attributes.new, kind))
            await request.old(kind)
        except ValueError as error:
            versions.pop(kind, None)
            return _Fault(PolicyFault(match.policy, None, f"failed to configure policy: {error}"))
    return None


class _Dispatch:
    """Applies matching policies to one write."""

    def __init__(
        self,
        selection: PolicySelection[PolicyMutator],
        request: PolicyRequest,
        objects: ObjectInterfaces,
        versions: dict[GroupVersionKind, _Versioned],
        stats: AdmissionStats,
    ) -> None:
        self._stats = stats
        self._runner = selection.runner
        self._request = request
        self._attributes = request.attributes
        self._objects = objects
        self._versions = versions
        self._faults: list[_Fault] = []
        self._last: _Versioned | None = None
        self._state = self._attributes.reinvocation.of(MutatingAdmissionPolicies.name)

    async def run(self, matches: list[BindingMatch[PolicyMutator]]) -> list[_Fault]:
        """Apply the policies, and return faults."""
        attributes, state = self._attributes, self._state
        if attributes.reinvocation.runs_again:
            state.begin_second_run(attributes.new)
        try:
            namespace = await self._request.namespace()
            pace = Pace()
            for match in matches:
                for params in match.params:
                    await self._invoke(match, params, namespace)
                    await pace.checkpoint()
            await self._finish()
        finally:
            state.end_run(attributes.new)
        return self._faults

    async def _invoke(self, match: BindingMatch[PolicyMutator], params: Object | None, namespace: Mapping[str, Any] | None) -> None:
        state, versioned = self._state, self._versions[match.matched.kind]
        inputs = await self._inputs(match, versioned, params, namespace)
        conditions = await self._conditions(match, inputs)
        observe_conditions(self._stats, match.policy.name, self._attributes, conditions)
        if conditions is not None and not conditions.matches:
            if conditions.error is not None:
                self._report(match, conditions.error)
            return
        key = _key(match, params)
        if self._attributes.reinvocation.runs_again and key not in state.due:
            return
        before = versioned.obj
        for mutation in match.compiled.mutations:
            self._last = versioned
            if versioned.obj is None:
                continue
            begun, fault = time.perf_counter(), NO_ERROR
            try:
                inputs = await self._inputs(match, versioned, params, namespace)
                mutated = await self._mutated(match, mutation, inputs, versioned.obj)
                # a patch whose test fails leaves the object as it is
                strict = mutation.is_json_patch and mutated is not versioned.obj
                versioned.obj = await self._completed(match, mutated, strict=strict)
                versioned.is_mutated = True
            except MutationFaultError as error:
                fault = error_type(str(error))
                self._report(match, str(error))
            except ValueError as error:
                raise errors.internal(str(error)) from error
            self._stats.mutating_policies[match.policy.name, match.binding.name, fault].observe(time.perf_counter() - begun)
        if not json_values.equal(before, versioned.obj):
            state.object_changed()
            self._attributes.reinvocation.is_required = True
        if match.policy.spec.get("reinvocationPolicy") == _IF_NEEDED:
            state.called(key)

    async def _mutated(self, match: BindingMatch[PolicyMutator], mutation: Mutation, inputs: Inputs, obj: Object) -> Object:
        """Return the object with a mutation. Raise MutationFaultError for a fault of the policy, ValueError for an internal one."""

        def evaluate() -> Operations | dict[str, Any]:
            return match.compiled.evaluate(mutation, inputs)

        found = await self._runner.run(evaluate, self._request.answers, match.compiled)
        if isinstance(found, list):
            return await self._patched(obj, found)
        configuration = {**found, "apiVersion": obj.get("apiVersion"), "kind": obj.get("kind")}
        try:
            return await self._objects.apply_configuration(obj, configuration)
        except ValueError as error:
            raise MutationFaultError(f"error applying patch: {error}") from error

    async def _completed(self, match: BindingMatch[PolicyMutator], obj: Object, *, strict: bool) -> Object:
        """Return a mutated object with defaults. `strict`: by a JSON patch.

        Raises:
            MutationFaultError: a fault of the policy.
            ValueError: an internal one.
        """
        try:
            return await self._objects.complete(obj, strict=strict)
        except UnpatchableError as error:
            raise MutationFaultError(str(error)) from error
        except ValueError as error:
            if strict:
                raise
            reason = f"error decoding from json: {error}" if str(error).startswith(_BASE64) else str(error)
            kind = match.matched.kind
            shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
            raise MutationFaultError(f"unable to convert unstructured object to {shown}: {reason}") from error

    async def _patched(self, obj: Object, operations: Operations) -> Object:
        try:
            if _is_small(operations):
                patched: Object = apply_operations(obj, operations)
            else:
                current_work().decline()
                patched = await aside(lambda: apply_operations(obj, operations))
        except PatchTestError:
            return obj
        except PatchError as error:
            raise MutationFaultError(f"JSON Patch: {error}") from error
        return patched

    async def _conditions(self, match: BindingMatch[PolicyMutator], inputs: Inputs) -> ConditionsResult | None:
        condition_inputs = self._request.condition_inputs(match.matched, inputs)

        def evaluate() -> ConditionsResult | None:
            return match.compiled.meets_conditions(condition_inputs)

        return await self._runner.run(evaluate, self._request.answers, match.compiled)

    async def _inputs(
        self, match: BindingMatch[PolicyMutator], versioned: _Versioned, params: Object | None, namespace: Mapping[str, Any] | None
    ) -> Inputs:
        old = await self._request.old(match.matched.kind)
        kind = match.policy.param_kind
        if params is not None and kind is not None and "kind" not in params:
            # the informers of built-in kinds have objects without type
            params = typed_object(params, kind["apiVersion"].rpartition("/")[2], kind["kind"])
        found = self._request.inputs(match.matched, versioned.obj, old, params, namespace)
        request = found.request
        return dataclasses.replace(found, namespace=typed_object(namespace, "v1", "Namespace"), request=lambda: typed_request(request()))

    def _report(self, match: BindingMatch[PolicyMutator], message: str) -> None:
        self._faults.append(_Fault(PolicyFault(match.policy, match.binding, message), _INVALID))

    async def _finish(self) -> None:
        """Give the write the object of the last mutation: as in the reference, changes in another version before it are lost."""
        last = self._last
        if last is None or last.obj is None or not last.is_mutated:
            return
        self._state.object_changed()
        self._attributes.reinvocation.is_required = True
        try:
            self._attributes.new = await self._objects.convert(last.obj, self._attributes.kind)
        except ValueError as error:
            raise errors.internal(f"failed to convert object: {error}") from error


def _is_small(operations: Operations) -> bool:
    """Return whether operations take little time: of a few, one at most may double the object."""
    if len(operations) > _MAX_INLINE_OPERATIONS:
        return False
    return len([one for one in operations if one is not None and one["op"] == "copy"]) <= MAX_INLINE_COPIES


def _key(match: BindingMatch[PolicyMutator], params: Object | None) -> Hashable:
    metadata = (params or {}).get("metadata") or {}
    return match.policy.name, match.binding.name, metadata.get("namespace"), metadata.get("name")


def _denial(attributes: Attributes, faults: list[_Fault]) -> errors.StatusError:
    error = errors.forbidden(attributes.resource.group_resource, attributes.object_name, "")
    texts = [_text(each.fault) for each in faults]
    status = errors.StatusError(error.code, faults[0].reason or error.reason, texts[0], error.details)
    status.details = {**(error.details or {}), "causes": [{"message": text} for text in texts]}
    return status


def _text(fault: PolicyFault) -> str:
    if fault.binding is None:
        return f'policy "{fault.policy.name}" denied request: {fault.message}'
    return f"policy '{fault.policy.name}' with binding '{fault.binding.name}' denied request: {fault.message}"
