"""The way of a group back to the host: apiext stops writing, the host's store gets what it has not, clients begin anew, the host serves.

Where it is on its way is told by the cluster, so that any replica goes on where another one was stopped:

| mirrors | policy | then |
| --- | --- | --- |
| Importing, all of them | | the copies are forgotten: nobody has written to them |
| Serving | there | it is seen whether it can be done; then apiext stops writing |
| Frozen | there | the differences are written into the host's etcd, and compared |
| Leaving | there | clients are sent away for a while, the host serves, and shows what it has |
| Leaving | there is none | the host serves and clients write to it; the mirrors and the finalizer go |

What clients would not survive, as kube-apiserver 1.37 was asked: a watch from a resourceVersion that is far greater than its
own (as apiext's are) is answered with 200 and then with nothing, for as long as it lasts, whatever is written; only with
`sendInitialEvents` does it end, with 504 "Too large resource version" after 3 s, as lists and gets do. client-go's informers
ask ten times for such a list before they ask for any. So while the mirrors are Leaving apiext ends all watches with 410,
answers lists of a resourceVersion with 410, too, and others with 503: informers are then asking for any list, a second after
the other. It is held so until those who were between two watches have come back, before the host is asked by anybody.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from apiext.meta import host_annotations
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.store_diff import Side, contents, differences
from apiext.operator.adoption.takeover import serve_again
from apiext.operator.adoption.watch_reset import touch
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Desired, Routing
from apiext.operator.reporting.reporter import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.operator.adoption.object_pages import Resource
    from apiext.operator.adoption.store_diff import Contents, Difference
    from apiext.operator.adoption.transition import Way

_AGAIN: Final = 30.0
_PART: Final = 500


async def hand_over(way: Way) -> Desired:
    """Give the group back to the host, from wherever it is. Raises ApiError, OrderError."""
    apiext = way.clients.apiext
    names = sorted(name for name in way.group.crds if way.group.phase(name))
    serving = way.phases(names, host_annotations.SERVING)
    if serving:
        obstacle = await _obstacle(way, serving)
        if obstacle:
            await way.tell(Reason.HAND_OVER_BLOCKED, f"apiext goes on serving the group: {obstacle}")
            return Desired(routing=Routing.APIEXT, after=_AGAIN)
        await way.policy.ensure(way.plurals)
        await way.policy.bites(way.plurals)
        await mirror_phase.set_phase(apiext, serving, host_annotations.FROZEN)
        await way.read()
    frozen = way.phases(names, host_annotations.FROZEN)
    if frozen:
        await _give_back(way, frozen)
        await mirror_phase.set_phase(apiext, frozen, host_annotations.LEAVING)
        await way.read()
    leaving = way.phases(names, host_annotations.LEAVING)
    if leaving and await way.policy.read() is not None:
        await _leave(way, leaving)
    await way.hands.route(Routing.HOST)
    await _forget(way, names)
    return Desired(routing=Routing.HOST)


async def _obstacle(way: Way, serving: list[str]) -> str:
    """Why the group cannot be given back as it is now; empty where it can."""
    unread = sorted(set(serving) - way.resources(serving).keys())
    if unread:
        return f"{', '.join(unread)} has no version that is served, in which its objects could be read: serve one"
    if way.clients.host_etcd is not None:
        async with await HostStore.open(way.clients.host_etcd) as store:
            for name in serving:
                await store.check(way.group.crds[name])
        return ""
    notes = await way.policy.read()
    known = notes.contents if notes else {}
    different = [name for name, one in way.resources(serving).items() if await contents(way.apiexts(one).objects()) != known.get(name)]
    if not different:
        return ""
    return (
        f"objects of {', '.join(different)} have changed since it took them over, and the host's API cannot take them back "
        "with their uids: start the operator with --host-etcd-servers"
    )


async def _give_back(way: Way, frozen: list[str]) -> None:
    """Return when the host's store holds what the mirrors hold."""
    obstacle = await _obstacle(way, frozen)
    if obstacle:
        # it has come since it was seen that there is none
        await mirror_phase.set_phase(way.clients.apiext, frozen, host_annotations.SERVING)
        raise ApiError(f"apiext goes on serving the group: {obstacle}")
    if way.clients.host_etcd is None:
        return
    resources = way.resources(frozen)
    notes = await way.policy.read()
    others = {name: one for name, one in (notes.contents if notes else {}).items() if name not in resources}
    # while it is being written nobody can tell what the host has
    await way.policy.note(contents=others)
    given: dict[str, Contents] = {}
    async with (
        await HostStore.open(way.clients.host_etcd) as store,
        way.progress(Reason.HANDING_OVER, "compared {done} of {total} objects with the host's") as progress,
    ):
        for name, one in resources.items():
            given[name] = await _write(way, store, one, progress.of(name))
    await way.policy.note(contents=others | given)


async def _write(way: Way, store: HostStore, one: Resource, progress: Callable[[int, int], None]) -> Contents:
    """Write what is different, until nothing is; what there is then."""
    while True:
        wanted, different = Side(way.apiexts(one, progress).objects()), 0
        part: list[Difference] = []
        async with aclosing(differences(wanted, Side(store.objects(one)))) as found:
            async for difference in found:
                different += 1
                part.append(difference)
                if len(part) == _PART:
                    await store.write(one, part)
                    part.clear()
        await store.write(one, part)
        if not different:
            return wanted.contents


async def _leave(way: Way, leaving: list[str]) -> None:
    """Return when the host serves the group, and has shown that it has all objects."""
    notes = await way.policy.read()
    expected = notes.contents if notes else {}
    await way.tell(Reason.HANDING_OVER, "clients are told to begin anew")
    await asyncio.sleep(way.leave)
    for name in leaving:
        await touch(way.clients.host, way.group.crds[name])
    await way.tell(Reason.HANDING_OVER, "the host begins to serve")
    try:
        await way.route(Routing.HOST, leaving)
        for name, one in way.resources(leaving).items():
            if await contents(way.hosts(one).objects()) != expected.get(name):
                raise ApiError(f"the host does not show the objects of {name} that are in its store")
    except ApiError as error:
        await serve_again(way, leaving)
        raise ApiError(f"{error}; apiext serves the group again") from error


async def _forget(way: Way, names: list[str]) -> None:
    """Let the host's definitions be the host's alone."""
    await way.policy.remove()
    await mirror_phase.drop(way.clients.apiext, names)
    await way.read()
    held = way.group.held
    # the finalizer goes last: without it nobody comes back to say so
    await way.tell(Reason.HANDED_OVER, "the host serves the group", {name: crd for name, crd in held.items() if name in way.live})
    await mirror_phase.let_go(way.clients.host, held.values())
