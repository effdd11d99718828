"""Definitions that are being deleted on the host, whose objects are apiext's to delete.

apiext deletes the mirror's objects as the host would. The host deletes its own copies, which nobody sees, without asking for
admission; but where one of them has a finalizer the host waits for somebody to take it away, and those who would do so are
at work on apiext's object. So what is left there is cleared when the mirror is gone.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from apiext.meta import marks
from apiext.operator.adoption import mirrors
from apiext.operator.adoption.comparing import Difference
from apiext.operator.adoption.hoststore import HostStore
from apiext.operator.clients import ApiError
from apiext.operator.group import Desired, Routing
from apiext.operator.report import Reason

if TYPE_CHECKING:
    from apiext.operator.adoption.collection import Resource
    from apiext.operator.adoption.way import Way

_AGAIN: Final = 2.0


async def end(way: Way) -> Desired | None:
    """Take the group's definitions that are being deleted as far as they go; None where the others can be looked at. Raises ApiError."""
    names = sorted(way.group.terminating)
    apiext = way.clients.apiext
    # who takes finalizers away must be let write; and what the host still serves is deleted there
    await mirrors.set_phase(apiext, way.phases(names, marks.FROZEN), marks.SERVING)
    await mirrors.drop(apiext, way.phases(names, marks.IMPORTING))
    await way.read()
    waiting = [name for name in names if way.group.phase(name)]
    gone = way.resources(name for name in names if name not in waiting and name in way.group.held)
    if gone:
        await _clear(way, gone)
    if not waiting:
        if not way.live:
            await way.policy.remove()
        return None
    crds = {name: way.group.crds[name] for name in waiting if name in way.group.crds}
    await way.tell(Reason.SERVING, "apiext deletes the objects", crds)
    return Desired(routing=Routing.APIEXT, after=_AGAIN) if not way.live else None


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
    await way.policy.remove()
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
