"""The definitions of a group: on the host, and apiext's copies of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import marks
from apiext.operator.clients import CRDS
from apiext.operator.group import annotations_of
from apiext.operator.hops.look import condition, named
from apiext.operator.hops.verdict import broken, ok

if TYPE_CHECKING:
    from apiext.operator.clients import Json
    from apiext.operator.hops.look import Look
    from apiext.operator.hops.verdict import Verdict

_WAITING: Final = {
    marks.IMPORTING: "objects are still being copied to apiext, and writes are refused meanwhile",
    marks.FROZEN: "objects are being copied back to the host, and writes are refused meanwhile",
    marks.LEAVING: "the group is on its way back to the host",
}
_NOT_STORED: Final = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "finalizers")


async def selected(look: Look, group: str) -> Verdict:
    """The host's definitions of the group are meant for apiext, all of them, and Established."""
    crds = await look.definitions(group)
    if not crds:
        return ok("the host has none: apiext has its own")
    others = [crd for crd in crds if not look.selects(crd)]
    if others:
        return broken(
            f"{named(others)}: not selected by {look.target.selector}; a group is served as a whole",
            f"kubectl label crd {' '.join(crd['metadata']['name'] for crd in others)} {look.target.selector}",
        )
    for crd in crds:
        name = crd["metadata"]["name"]
        if annotations_of(crd).get(marks.HAND_OVER) == marks.HAND_OVER_VALUE:
            return broken(f"{name}: is to be handed back to the host", f"kubectl annotate crd {name} {marks.HAND_OVER}-")
        if crd["metadata"].get("deletionTimestamp"):
            return broken(f"{name}: is being deleted", "wait until it is gone, and create it anew")
        if trouble := _not_established(crd):
            return broken(f"{name}: {trouble} on the host", f"kubectl describe crd {name}")
    return ok(f"{named(crds)}: selected and Established")


async def mirrored(look: Look, group: str) -> Verdict:
    """Apiext has taken the host's definitions of the group, and serves them."""
    mirrors = {crd["metadata"]["name"]: crd for crd in await look.mirrors(group)}
    crds = await look.definitions(group)
    for crd in crds:
        if verdict := await _unlike(look, group, crd, mirrors.get(crd["metadata"]["name"])):
            return verdict
    if not mirrors:
        return broken("apiext has no definition of the group", "give it one with --crd-dir, or delete the APIServices of the group")
    for name, mirror in mirrors.items():
        if trouble := _not_established(mirror):
            return broken(f"{name}: apiext refuses it: {trouble}", f"rename what collides, or see `kubectl describe crd {name}` of apiext")
    return ok(f"{', '.join(mirrors)}: {'as on the host' if crds else 'its own'}, Established")


async def _unlike(look: Look, group: str, crd: Json, mirror: Json | None) -> Verdict | None:
    """What is wrong with the copy of a definition."""
    name = crd["metadata"]["name"]
    if mirror is None:
        return await _refused(look, group, crd, "POST", f"{CRDS}?dryRun=All") or broken(
            f"{name}: apiext has no copy of it",
            f"start apiext with --crd-selector={look.target.selector}, and let its user get, list and watch customresourcedefinitions",
        )
    uid = annotations_of(mirror).get(marks.HOST_UID)
    if uid is None:
        return broken(f"{name}: apiext has one of its own of that name", "delete it there, or in --crd-dir, or on the host")
    if uid != crd["metadata"]["uid"]:
        return broken(
            f"{name}: apiext still has the copy of one that was deleted on the host", "wait until its objects are gone; see apiext's log"
        )
    phase = annotations_of(mirror).get(marks.PHASE, marks.IMPORTING)
    if phase in _WAITING:
        said = condition(crd, marks.CONDITION).get("message", "")
        return broken(f"{name}: phase {phase}: {_WAITING[phase]}{f' ({said})' if said else ''}", "wait, and see the operator's log")
    if mirror["spec"] == crd["spec"]:
        return None
    return await _refused(look, group, {**mirror, "spec": crd["spec"]}, "PUT", f"{CRDS}/{name}?dryRun=All") or broken(
        f"{name}: apiext has an older state of it", "wait a moment, and see apiext's log"
    )


async def _refused(look: Look, group: str, crd: Json, method: str, path: str) -> Verdict | None:
    """Why apiext does not take a definition, which it is asked without anything being changed; None where it does."""
    metadata = {key: value for key, value in crd["metadata"].items() if method == "PUT" or key not in _NOT_STORED}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": crd["spec"]}
    answer = await (await look.client(group))(path, method=method, body=body)
    if answer.code not in {400, 422}:
        return None
    return broken(f"{metadata['name']}: apiext refuses it: {answer.text}", "change the definition on the host")


def _not_established(crd: Json) -> str:
    """The condition that keeps a definition from being served, empty where none does."""
    if condition(crd, "Established").get("status") == "True":
        return ""
    named_so = condition(crd, "NamesAccepted")
    why = named_so if named_so.get("status") == "False" else condition(crd, "Established")
    return f"not Established: {why.get('reason', 'no condition yet')}: {why.get('message', '')}".rstrip(": ")
