"""Admission on the map: the webhooks and policies with a rule for the objects of a definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.admission.sources import AdmissionPhase, NotReadyError, RequestPlace
from apiext.meta.request import AdmissionOperation
from apiext.server.version_map.conversions import client_target
from apiext.server.version_map.entries import GUARDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.admission.sources import ConfigurationSource, HookEntry, PolicyEntry
    from apiext.definitions.definition import Definition
    from apiext.meta.encoding.json_codec import Object

_WEBHOOKS: Final = {phase: f"{phase}webhookconfigurations" for phase in AdmissionPhase}
_POLICIES: Final = {phase: f"{phase}admissionpolicies" for phase in AdmissionPhase}


async def guards_of(source: ConfigurationSource, definition: Definition) -> Mapping[str, Sequence[Object]] | None:
    """Return the webhooks and policies by plural, each with the operations that it concerns; None while they are not known."""
    found: dict[str, dict[str, tuple[Object, list[str]]]] = {plural: {} for plural in GUARDS}
    try:
        for place in _places(definition):
            operation = f"{place.operation} {place.subresource}".rstrip()
            for phase in AdmissionPhase:
                for hook in await source.webhooks(phase, place):
                    _add(found[_WEBHOOKS[phase]], hook.uid, _webhook(hook), operation)
                for policy in await source.policies(phase, place):
                    _add(found[_POLICIES[phase]], policy.policy["metadata"]["name"], _policy(policy), operation)
    except NotReadyError:
        return None
    return {plural: [about | {"operations": operations} for about, operations in rows.values()] for plural, rows in found.items() if rows}


def _places(definition: Definition) -> list[RequestPlace]:
    group, resource = definition.resource
    subresources = [""]
    if any(version.has_status for version in definition.versions):
        subresources.append("status")
    if any(version.scale is not None for version in definition.versions):
        subresources.append("scale")
    return [
        RequestPlace(group, resource, subresource, operation)
        for subresource in subresources
        for operation in AdmissionOperation
        # subresources can only be updated
        if not subresource or operation is AdmissionOperation.UPDATE
    ]


def _add(rows: dict[str, tuple[Object, list[str]]], key: str, about: Object, operation: str) -> None:
    rows.setdefault(key, (about, []))[1].append(operation)


def _webhook(entry: HookEntry) -> Object:
    hook = entry.hook
    return {
        "name": f"{entry.configuration}: {hook['name']}",
        "failurePolicy": hook.get("failurePolicy") or "Fail",
        "target": client_target(hook.get("clientConfig") or {}),
    }


def _policy(entry: PolicyEntry) -> Object:
    spec = entry.policy.get("spec") or {}
    return {
        "name": entry.policy["metadata"]["name"],
        "failurePolicy": spec.get("failurePolicy") or "Fail",
        "target": f"{len(entry.bindings)} binding{'s' if len(entry.bindings) != 1 else ''}",
    }
