"""Checks of the definitions of a group on the host, and of their mirrors in apiext."""

from __future__ import annotations

from typing import Final

from apiext.base.meta import host_annotations
from apiext.operator.api_clients import Json
from apiext.operator.checks.health import HOST
from apiext.operator.checks.snapshot import Snapshot, named
from apiext.operator.checks.verdict import CheckVerdict, broken, ok
from apiext.operator.group_state import annotations_of, condition_of, is_established
from apiext.resources.definitions.conditions import CONVERSION_WEBHOOK_AVAILABLE

_UNFINISHED: Final = {
    host_annotations.IMPORTING: "objects are still being copied to apiext, and writes are refused meanwhile",
    host_annotations.FROZEN: "objects are being copied back to the host, and writes are refused meanwhile",
    host_annotations.LEAVING: "the group is on its way back to the host",
}


async def selected(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that all definitions of the group on the host are selected, not handed over, and Established."""
    crds = await snapshot.definitions(group)
    if not crds:
        return ok("the host has none: apiext has its own")
    others = [crd for crd in crds if not snapshot.selects(crd)]
    if others:
        return broken(
            f"{named(others)}: not selected by {snapshot.target.selector}; a group is served as a whole",
            f"kubectl label crd {' '.join(crd['metadata']['name'] for crd in others)} {snapshot.target.selector}",
        )
    for crd in crds:
        name = crd["metadata"]["name"]
        if host_annotations.wants_hand_over(annotations_of(crd)):
            return broken(f"{name}: is to be handed back to the host", f"kubectl annotate crd {name} {host_annotations.HAND_OVER}-")
        if crd["metadata"].get("deletionTimestamp"):
            return broken(f"{name}: is being deleted", "wait until it is gone, and create it anew")
        if trouble := _not_established(crd):
            return broken(f"{name}: {trouble} on the host", f"kubectl describe crd {name}")
    return ok(f"{named(crds)}: selected and Established")


async def mirrored(snapshot: Snapshot, group: str) -> CheckVerdict:
    """Check that apiext has a mirror of each definition of the group, and serves it."""
    mirrors = {crd["metadata"]["name"]: crd for crd in await snapshot.mirrors(group)}
    crds = await snapshot.definitions(group)
    rejected = await _rejections(snapshot, group) if crds else {}
    for crd in crds:
        name = crd["metadata"]["name"]
        if name in rejected:
            return broken(f"{name}: apiext refuses it: {rejected[name]}", "change the definition on the host")
        if verdict := _mirror_problem(snapshot.target.selector, crd, mirrors.get(name)):
            return verdict
    if not mirrors:
        return broken("apiext has no definition of the group", "give it one with --crd-dir, or delete the APIServices of the group")
    for name, mirror in mirrors.items():
        if trouble := _not_established(mirror):
            return broken(f"{name}: apiext refuses it: {trouble}", f"rename what collides, or see `kubectl describe crd {name}` of apiext")
        webhook = condition_of(mirror, CONVERSION_WEBHOOK_AVAILABLE)
        if webhook.get("status") == "False":
            remedy = "let apiext reach the webhook: its Service, NetworkPolicies and caBundle; --service-address names another address"
            return broken(f"{name}: apiext cannot convert its objects: {webhook.get('message')}", remedy)
    return ok(f"{', '.join(mirrors)}: {'as on the host' if crds else 'its own'}, Established")


def _mirror_problem(selector: str, crd: Json, mirror: Json | None) -> CheckVerdict | None:
    """Return the verdict of a mirror that does not serve its definition, None if it does."""
    name = crd["metadata"]["name"]
    if mirror is None:
        remedy = f"start apiext with --crd-selector={selector}, and let its user get, list and watch customresourcedefinitions"
        return broken(f"{name}: apiext has no copy of it", remedy)
    uid = annotations_of(mirror).get(host_annotations.HOST_UID)
    if uid is None:
        return broken(f"{name}: apiext has one of its own of that name", "delete it there, or in --crd-dir, or on the host")
    if uid != crd["metadata"]["uid"]:
        gone = f"{name}: apiext still has the copy of one that was deleted on the host"
        return broken(gone, "wait until its objects are gone; see apiext's log")
    phase = annotations_of(mirror).get(host_annotations.PHASE, host_annotations.IMPORTING)
    if phase not in _UNFINISHED:
        return None
    said = condition_of(crd, host_annotations.CONDITION).get("message", "")
    return broken(f"{name}: phase {phase}: {_UNFINISHED[phase]}{f' ({said})' if said else ''}", "wait, and see the operator's log")


async def _rejections(snapshot: Snapshot, group: str) -> dict[str, str]:
    """Return the reasons of rejected host definitions by name, from apiext's readiness check."""
    answer = await snapshot.apiext(group, f"/readyz/{HOST}")
    lines = (line.partition(": ") for line in answer.text.splitlines())
    return {name: why for name, _colon, why in lines if why}


def _not_established(crd: Json) -> str:
    """Return the condition that explains why a definition is not served, empty if there is none."""
    if is_established(crd):
        return ""
    named_so = condition_of(crd, "NamesAccepted")
    why = named_so if named_so.get("status") == "False" else condition_of(crd, "Established")
    return f"not Established: {why.get('reason', 'no condition yet')}: {why.get('message', '')}".rstrip(": ")
