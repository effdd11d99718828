"""Selects the bindings of policies that apply to a write (apiserver pkg/admission/plugin/policy/generic)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from apiext.api.admission.attributes import not_ready
from apiext.api.admission.expression_runner import ExpressionRunner
from apiext.api.admission.matching.candidates import candidates
from apiext.api.admission.matching.exemptions import VIRTUAL_RESOURCES
from apiext.api.admission.matching.matcher import Matcher, labels_of_objects, match_objects, selects
from apiext.api.admission.sources import NotReadyError, ParamQuery
from apiext.base.meta import errors
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.objectmeta.label_selector import parse_selector

if TYPE_CHECKING:
    from apiext.api.admission.attributes import Attributes
    from apiext.api.admission.matching.criteria import MatchCriteria
    from apiext.api.admission.object_interfaces import EquivalentResource
    from apiext.api.admission.policy.bound_policy import BoundPolicies, BoundPolicy, PolicyBinding
    from apiext.api.admission.sources import AdmissionPhase, AdmissionSources, ParamSource
    from apiext.base.meta.encoding.json_codec import Object

Compiled = TypeVar("Compiled")

_NO_PARAMS: Final = (None,)
"""Of a policy or binding without parameters: it is evaluated once."""

_DENY: Final = "Deny"


class ConfigurationFaultError(Exception):
    """A policy or binding cannot be applied. The text is the reference's."""


async def param_scope(source: ParamSource, kind: Mapping[str, Any]) -> bool:
    """Return whether the parameters of a policy have namespaces.

    Raises:
        ConfigurationFaultError: there is no such kind.
    """
    try:
        found = await source.is_namespaced(kind.get("apiVersion") or "", kind.get("kind") or "")
    except errors.StatusError:
        found = None
    if found is None:
        group, version = parse_group_version(kind.get("apiVersion") or "")
        raise ConfigurationFaultError(f"failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind.get('kind')}'")
    return found


async def collect_params(
    source: ParamSource, kind: Mapping[str, Any], reference: Mapping[str, Any], namespace: str, *, namespaced: bool
) -> Sequence[Object]:
    """Return the parameters of a binding that refers to some; nothing if missing ones are ignored.

    `namespace` is that of the request, `namespaced` the scope of the kind.

    Raises:
        ConfigurationFaultError: they cannot be found, and the write must not pass without them.
    """
    place = ""
    if namespaced:
        place = reference.get("namespace") or namespace
        if not place:
            raise ConfigurationFaultError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    elif reference.get("namespace"):
        raise ConfigurationFaultError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    try:
        found = await source.params(_query(kind, reference, place))
    except NotReadyError as error:
        shown = f"&ParamKind{{APIVersion:{kind.get('apiVersion')},Kind:{kind.get('kind')},}}"
        raise ConfigurationFaultError(f"paramKind kind `{shown}` not yet synced to use for admission") from error
    except (errors.StatusError, ValueError) as error:
        raise ConfigurationFaultError(str(error)) from error
    if not found and reference.get("parameterNotFoundAction") == _DENY:
        raise ConfigurationFaultError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def _query(kind: Mapping[str, Any], reference: Mapping[str, Any], namespace: str) -> ParamQuery:
    """Return the query for the parameters. Raises ValueError for an invalid selector."""
    query = ParamQuery(kind.get("apiVersion") or "", kind.get("kind") or "", namespace)
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        if selector is not None:
            raise ValueError("paramRef.name and paramRef.selector are mutually exclusive")
        return ParamQuery(query.api_version, query.kind, namespace, name=name)
    if selector is None:
        raise ValueError("one of name or selector must be provided")
    parse_selector(selector)
    return ParamQuery(query.api_version, query.kind, namespace, selector=selector_text(selector))


def selector_text(selector: Mapping[str, Any]) -> str:
    """Return a LabelSelector as the text of a query."""
    parts = [f"{label}={value}" for label, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        label, operator = one["key"], one["operator"]
        if operator in {"In", "NotIn"}:
            parts.append(f"{label} {operator.lower()} ({','.join(sorted(one.get('values') or ()))})")
        else:
            parts.append(label if operator == "Exists" else f"!{label}")
    return ",".join(parts)


@dataclass(slots=True, eq=False)
class BindingMatch(Generic[Compiled]):
    """A binding that applies to a write."""

    policy: BoundPolicy[Compiled]
    binding: PolicyBinding
    compiled: Compiled
    matched: EquivalentResource
    """The resource and kind of the policy's rule."""
    params: Sequence[Object | None]
    """Evaluate the policy once for each."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicyFault:
    """A policy or a binding that matches, or may match, and cannot be applied."""

    policy: BoundPolicy[Any]
    binding: PolicyBinding | None
    """None if the fault is the policy's."""
    message: str


class PolicySelection(Generic[Compiled]):
    """Finds the bindings of a phase that apply to a write."""

    def __init__(self, sources: AdmissionSources, phase: AdmissionPhase, policies: BoundPolicies[Compiled]) -> None:
        self._sources = sources
        self._phase = phase
        self._policies = policies
        self._matcher = Matcher(sources.namespaces)
        self.runner = ExpressionRunner(sources.access.authorize)
        """Evaluates the expressions of the policies."""

    async def candidates(self, attributes: Attributes) -> Sequence[BoundPolicy[Compiled]]:
        """Return the policies with a rule for the place of a write.

        Raises:
            StatusError: 403, the policies have not been listed in time.
        """
        if attributes.resource.group_resource in VIRTUAL_RESOURCES:
            return []
        entries = await candidates(self._sources.configurations.policies, self._phase, attributes)
        return list(map(self._policies.bound, entries))

    async def selected(self, attributes: Attributes) -> Sequence[BoundPolicy[Compiled]]:
        """Return the candidates whose selectors match the labels of a write's objects, which stay as they are.

        Raises:
            StatusError: as `candidates`.
        """
        labels = labels_of_objects(attributes.new, attributes.old)
        return [policy for policy in await self.candidates(attributes) if selects(policy.criteria.object_selector, labels)]

    async def matches(self, policy: BoundPolicy[Compiled], attributes: Attributes) -> Sequence[BindingMatch[Compiled] | PolicyFault]:
        """Return the bindings of a policy that apply to a write, and faults, in the order of the bindings' names.

        Raises:
            StatusError: 403, namespaces have not been listed in time.
        """
        kind = policy.param_kind
        try:
            matched = match_objects(policy.criteria, attributes, attributes.new)
            if matched is not None and policy.criteria.needs_namespace:
                matched = await self._match(policy.criteria, attributes)
            if matched is None:
                return ()
            namespaced = kind is not None and await param_scope(self._sources.params, kind)
        except ConfigurationFaultError as error:
            return (PolicyFault(policy, None, f"failed to configure policy: {error}"),)
        compiled = await self._policies.compiled(policy)
        found: list[BindingMatch[Compiled] | PolicyFault] = []
        for binding in policy.bindings:
            try:
                if binding.criteria is not None and await self._match(binding.criteria, attributes) is None:
                    continue
                reference = binding.spec.get("paramRef")
                params: Sequence[Object | None] = _NO_PARAMS
                if kind is not None and reference is not None:
                    params = await collect_params(self._sources.params, kind, reference, attributes.namespace, namespaced=namespaced)
            except ConfigurationFaultError as error:
                found.append(PolicyFault(policy, binding, f"failed to configure binding: {error}"))
            else:
                found.append(BindingMatch(policy, binding, compiled, matched, params))
        return found

    async def _match(self, criteria: MatchCriteria, attributes: Attributes) -> EquivalentResource | None:
        """Return what criteria match. Raises ConfigurationFaultError, and StatusError if namespaces are not known yet."""
        try:
            return await self._matcher.match(criteria, attributes, attributes.new)
        except NotReadyError as error:
            raise not_ready(attributes) from error
        except errors.StatusError as error:
            raise ConfigurationFaultError(str(error)) from error
