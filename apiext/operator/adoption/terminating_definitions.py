"""Definitions that are being deleted on the host, whose objects are apiext's to delete.

apiext deletes the mirror's objects as the host would. The host deletes its own copies, which nobody sees, without asking for
admission; but where one of them has a finalizer the host waits for somebody to take it away, and those who would do so are
at work on apiext's object. So what is left there is cleared when the mirror is gone. Where apiext has never begun to serve
(the policy notes nothing of the definition, or the host does not proxy yet) the host's objects are the real ones, and go as
the host has them go.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from apiext.meta import host_annotations
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.object_pages import Collection
from apiext.operator.adoption.store_diff import Difference
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Desired, Routing
from apiext.operator.reporting.reporter import Reason

if TYPE_CHECKING:
    from apiext.operator.adoption.object_pages import Resource
    from apiext.operator.adoption.transition import Way

_AGAIN: Final = 2.0


async def end(way: Way) -> Desired | None:
    """Take the group's definitions that are being deleted as far as they go; None where the others can be looked at. Raises ApiError."""
    names = sorted(way.group.terminating)
    apiext = way.clients.apiext
    # who takes finalizers away must be let write
    await mirror_phase.set_phase(apiext, way.phases(names, host_annotations.FROZEN), host_annotations.SERVING)
    theirs = await _the_hosts(way, names)
    if theirs:
        await _free(way)
        await mirror_phase.drop(apiext, theirs)
    await way.read()
    waiting = [name for name in names if way.group.phase(name)]
    gone = way.resources(name for name in names if name not in (*waiting, *theirs) and name in way.group.held)
    if gone:
        await _clear(way, gone)
    if not waiting:
        if not way.live:
            await way.policy.remove()
        return None
    crds = {name: way.group.crds[name] for name in waiting if name in way.group.crds}
    await way.tell(Reason.SERVING, "apiext deletes the objects", crds)
    return Desired(routing=Routing.APIEXT, after=_AGAIN) if not way.live else None


async def _the_hosts(way: Way, names: list[str]) -> list[str]:
    """The definitions that apiext has not served."""
    notes = await way.policy.read()
    known, touched = (notes.contents, notes.touched) if notes else ({}, frozenset())
    theirs = [name for name in names if name not in known or way.group.phase(name) == host_annotations.IMPORTING]
    for name, one in way.resources(way.phases(names, host_annotations.SERVING)).items():
        if name not in theirs and name not in touched and not await Collection(way.clients.host, one).is_by_apiext():
            theirs.append(name)
    return theirs


async def _free(way: Way) -> None:
    """Let clients of the host write to what is being deleted, as they must for finalizers."""
    if await way.policy.read() is not None:
        await way.policy.ensure(way.plurals)
        await way.policy.bites(way.plurals)


async def _clear(way: Way, resources: dict[str, Resource]) -> None:
    """Have the host rid of what it has of definitions whose mirrors are gone."""
    if way.clients.host_etcd is not None:
        async with await HostStore.open(way.clients.host_etcd) as store:
            for name, one in resources.items():
                await store.check(way.group.crds[name])
                async with aclosing(store.objects(one)) as found:
                    left = [Difference(None, held) async for held in found]
                await store.write(one, left)
        return
    if way.group.mirrors:
        # the host proxies the group, for others: what it has itself cannot be reached
        return
    await way.route(Routing.HOST, resources)
    await _free(way)
    for one in resources.values():
        async with aclosing(way.hosts(one).objects()) as found:
            async for held in found:
                if held.content["metadata"].get("finalizers"):
                    await _release(way, one, held.namespace, held.name)


async def _release(way: Way, one: Resource, namespace: str, name: str) -> None:
    where = f"namespaces/{namespace}/{one.plural}" if namespace else one.plural
    try:
        await way.clients.host.patch(f"/apis/{one.group}/{one.version}/{where}/{name}", {"metadata": {"finalizers": None}})
    except ApiError as error:
        if error.code != 404:
            raise
