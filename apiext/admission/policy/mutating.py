"""MutatingAdmissionPolicy: changes objects by expressions (apiserver pkg/admission/plugin/policy/mutating/dispatcher.go)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.admission.attributes import Admission, Attributes
from apiext.admission.object_interfaces import UnpatchableError
from apiext.admission.policy.bound_policy import BoundPolicies
from apiext.admission.policy.counting import NO_ERROR, error_type, observe_conditions
from apiext.admission.policy.invocations import BindingMatch, PolicyFault, PolicySelection
from apiext.admission.policy.mutator import Mutation, MutationFaultError, PolicyMutator
from apiext.admission.policy.policy_request import PolicyRequest
from apiext.admission.sources import AdmissionPhase
from apiext.meta import errors
from apiext.meta.encoding import json_values
from apiext.meta.limits import MAX_INLINE_COPIES
from apiext.meta.patch import Operations, PatchError, PatchTestError, apply_operations
from apiext.meta.request import AdmissionOperation
from apiext.scheduling.inline_work import HeavyWorkError, current_work
from apiext.scheduling.side_thread import aside
from apiext.scheduling.time_slice import Pace
from apiext.schema.cel.policies.native_values import typed_object, typed_request

if TYPE_CHECKING:
    from apiext.admission.metrics import AdmissionStats
    from apiext.admission.object_interfaces import ObjectInterfaces
    from apiext.admission.sources import AdmissionSources
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.gvk import GroupVersionKind
    from apiext.schema.cel.policies.inputs import Inputs
    from apiext.schema.cel.policies.match_conditions import ConditionsResult

_INVALID: Final = "Invalid"
_IF_NEEDED: Final = "IfNeeded"
_BASE64: Final = "illegal base64 data"
_MAX_INLINE_OPERATIONS: Final = 100
"""Operations of a JSON patch above which they are not applied on the event loop."""


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
            HeavyWorkError: an evaluation takes too long for the event loop.
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

        def evaluate(*, inline: bool) -> Operations | dict[str, Any]:
            return match.compiled.evaluate(mutation, inputs, inline=inline)

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
            elif current_work().is_limited:
                raise HeavyWorkError
            else:
                patched = await aside(lambda: apply_operations(obj, operations))
        except PatchTestError:
            return obj
        except PatchError as error:
            raise MutationFaultError(f"JSON Patch: {error}") from error
        return patched

    async def _conditions(self, match: BindingMatch[PolicyMutator], inputs: Inputs) -> ConditionsResult | None:
        condition_inputs = self._request.condition_inputs(match.matched, inputs)

        def evaluate(*, inline: bool) -> ConditionsResult | None:
            return match.compiled.meets_conditions(condition_inputs, inline=inline)

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
