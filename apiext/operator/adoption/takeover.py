"""The way of a group to apiext: its objects are copied, the host stops writing, what is left is copied, apiext begins, the host proxies.

Where it is on its way is told by the cluster, so that any replica goes on where another one was stopped:

| mirrors | policy | then |
| --- | --- | --- |
| none, or Importing | there is none | everything is copied while clients write at the host |
| Importing | there | the differences are copied until there are none, twice |
| Serving | there | the host is told to proxy, and its watches are ended |
| Serving | it notes that the host's watches have been ended | nothing is left to do |

Until the mirrors are Serving nothing has changed for anybody, and the way back is to forget the copies.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from apiext.meta import host_annotations
from apiext.operator import host_definitions
from apiext.operator.adoption import mirror_phase, unenforced_features
from apiext.operator.adoption.importer import Copied, Importer, copy
from apiext.operator.adoption.object_pages import Collection
from apiext.operator.adoption.store_diff import EMPTY
from apiext.operator.adoption.watch_reset import touch
from apiext.operator.group_state import Desired, Routing, is_held
from apiext.operator.reporting.reporter import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from apiext.operator.adoption.object_pages import Resource
    from apiext.operator.adoption.store_diff import Contents
    from apiext.operator.adoption.transition import Way
    from apiext.operator.api_clients import Json


async def adopt(way: Way) -> Desired:
    """Take the group to apiext, from wherever it is. Raises ApiError, OrderError, and TurnedBackError before anybody notices."""
    names = sorted(way.live)
    await _warn(way)
    await mirror_phase.hold(way.clients.host, way.live.values(), way.group.service)
    missing = [name for name in names if not mirror_phase.follows(way.group, name)]
    if missing:
        await way.tell(Reason.ADOPTING, "waiting for apiext to have the definitions")
        await way.until(
            lambda group: all(mirror_phase.follows(group, name) for name in names),
            f"apiext does not follow {', '.join(missing)}: is it started with --crd-selector, for this host?",
        )
    await _take_back(way, names)
    importing = way.phases(names, host_annotations.IMPORTING)
    if importing:
        await way.while_wanted(names, _import(way, importing))
        await mirror_phase.set_phase(way.clients.apiext, importing, host_annotations.SERVING)
    await way.policy.ensure(way.plurals)
    await _proxy(way, names)
    await _tell_serving(way)
    return Desired(routing=Routing.APIEXT)


async def _warn(way: Way) -> None:
    """Say what will not be enforced, on definitions whose way begins here: the finalizer that they get next is not there yet."""
    beginning = [crd for crd in way.live.values() if not is_held(crd)]
    found = await _unenforced(way) if beginning else []
    if found:
        await way.warn("NotEnforced", unenforced_features.warning(way.group.name, found), beginning)


async def _tell_serving(way: Way) -> None:
    """Say that the group is served, and what is not enforced; what has been said is left as it is, without a question to the host."""
    said = {name: _said(crd) for name, crd in way.live.items()}
    if not all(said.values()):
        said = dict.fromkeys(said, unenforced_features.serving(await _unenforced(way)))
    for name, message in said.items():
        await way.tell(Reason.SERVING, message, {name: way.live[name]})


def _said(crd: Json) -> str:
    """What the condition of a definition says while its group is served, empty where it says something else."""
    condition = host_definitions.condition_of(crd) or {}
    message = str(condition.get("message"))
    return message if condition.get("reason") == Reason.SERVING and message.startswith(unenforced_features.SERVES) else ""


async def _unenforced(way: Way) -> list[str]:
    return unenforced_features.unenforced(way.live.values(), await unenforced_features.listed(way.clients.host), way.policy.name)


async def _take_back(way: Way, names: list[str]) -> None:
    """Go back from a hand-over that is not wanted any more; the host's policy is there, so that nobody has written there."""
    leaving = way.phases(names, host_annotations.FROZEN, host_annotations.LEAVING)
    if leaving:
        await way.policy.ensure(way.plurals)
        await way.policy.bites(way.plurals)
        await serve_again(way, leaving)


async def serve_again(way: Way, leaving: list[str]) -> None:
    """Have the host proxy, and apiext serve; watches of the host that have been opened meanwhile are to be ended. Raises ApiError."""
    await way.policy.note(touched=())
    await way.hands.route(Routing.APIEXT)
    await mirror_phase.set_phase(way.clients.apiext, leaving, host_annotations.SERVING)
    await way.routed(Routing.APIEXT, leaving)


async def _import(way: Way, importing: list[str]) -> None:
    """Return when the mirrors hold what the host holds, and the host does not write any more."""
    resources = way.resources(importing)
    # where the group is served by apiext already, nobody can have made objects of another definition at the host
    proxied = {name for name, one in resources.items() if await Collection(way.clients.host, one).is_by_apiext()}
    copied = {name: one for name, one in resources.items() if name not in proxied}
    notes = await way.policy.read()
    if notes is None:
        async with way.progress(Reason.ADOPTING, "copied {done} of {total} objects") as progress:
            for name, one in copied.items():
                await _copy(way, one, progress.of(name))
    await way.tell(Reason.ADOPTING, "the host stops writing")
    await way.policy.ensure(way.plurals)
    await way.policy.bites(way.plurals)
    settled = await _settle(way, copied)
    before = dict.fromkeys(proxied, EMPTY) | (notes.contents if notes else {})
    await way.policy.note(contents=before | settled)


async def _settle(way: Way, resources: Mapping[str, Resource]) -> dict[str, Contents]:
    """Copy differences until the host has had the same for a while and apiext has it, too; what that is."""
    settled: dict[str, Copied] = {}
    last: dict[str, Copied] = {}
    while resources:
        async with way.progress(Reason.ADOPTING, "compared {done} of {total} objects") as progress:
            settled = {name: await _copy(way, one, progress.of(name)) for name, one in resources.items()}
        if all(name in last and last[name].source == one.source and not one.different for name, one in settled.items()):
            break
        last = settled
        await asyncio.sleep(way.settle)
    return {name: one.source for name, one in settled.items()}


async def _copy(way: Way, one: Resource, progress: Callable[[int, int], None]) -> Copied:
    importer = Importer(way.clients.apiext, one.definition)
    try:
        return await copy(way.hosts(one, progress).objects(), way.apiexts(one).objects(), importer)
    finally:
        await importer.close()


async def _proxy(way: Way, names: list[str]) -> None:
    """Return when the host proxies the group, and watches that it has still are at their end."""
    notes = await way.policy.read()
    touched = notes.touched if notes else frozenset()
    if touched.issuperset(names):
        return
    await way.tell(Reason.ADOPTING, "the host begins to proxy")
    await way.route(Routing.APIEXT, names)
    for name in sorted(set(names) - touched):
        await touch(way.clients.host, way.group.crds[name])
    await way.policy.note(touched=names)
