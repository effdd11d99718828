"""Hand-over of a group to the host: apiext stops writing, the host's store gets the differences, clients restart, the host serves.

The state is kept in the cluster, so that any replica can continue:

| mirrors | policy | next step |
| --- | --- | --- |
| Importing, all of them | | delete the mirrors: no client has written to them |
| Serving | exists | check whether the hand-over is possible; write the differences into the host's etcd; then stop writes at apiext |
| Frozen | exists | write the remaining differences |
| Leaving | exists | make clients restart, let the host serve, and verify what it lists |
| Leaving | missing | the host serves and clients write to it; delete the mirrors and the finalizer |

Why clients have to restart, as measured with kube-apiserver 1.37: a watch from a resourceVersion far above its own (apiext's are) gets 200
and then no event, for as long as it lasts. Only with `sendInitialEvents` does it end, with 504 "Too large resource version" after 3 s, as
do lists and gets. client-go's informers repeat such a list ten times before they list without a resourceVersion. So while the mirrors are
Leaving, apiext ends all watches with 410, and answers lists of a resourceVersion with 410 and other lists with 503. Informers then list
without a resourceVersion, once a second. The host serves when also the clients between two watches have come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.object_pages import AdoptedResource, OnPage
from apiext.operator.adoption.resource_changes import MissedChangesError, ResourceChanges, changes_from_now, read_all
from apiext.operator.adoption.store_diff import UNKNOWN, ContentSummary, Difference, ObjectStream, differences, summarize
from apiext.operator.adoption.takeover import resume_serving
from apiext.operator.adoption.transition import Transition, TransitionAbortedError
from apiext.operator.adoption.watch_reset import reset_watches
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Desired, Routing, condition_of
from apiext.operator.host_definitions import ConditionReason, missing_versions

_LOG: Final = get_logger(__name__)
_RETRY_SECONDS: Final = 30.0
"""Pause before a blocked hand-over is checked again."""
CLIENT_RESTART_SECONDS: Final = 5.0
"""Seconds in which all clients notice that they must list again, also those between two watches."""
HANDED_OVER: Final = "the host serves the group"
_BATCH_SIZE: Final = 500
"""Objects written to the host's etcd at once."""


async def hand_over(transition: Transition) -> Desired:
    """Hand the group over to the host, starting from its current state.

    Raises:
        ApiError: a step failed.
        TransitionAbortedError: a definition was deleted meanwhile.
    """
    apiext = transition.clients.apiext
    names = sorted(name for name in transition.live if transition.group.phase(name))
    changes: dict[str, ResourceChanges] = {}
    serving = transition.phases(names, host_annotations.SERVING)
    if serving:
        await transition.policy.ensure(transition.plurals)
        obstacle = await _obstacle(transition, serving)
        if obstacle:
            await report_blocked(transition, obstacle)
            return Desired(routing=Routing.APIEXT, after=_RETRY_SECONDS)
        await transition.policy.wait_until_enforced(transition.plurals)
        try:
            changes = await _write_ahead(transition, serving)
        except ApiError as error:
            raise _goes_on(error) from error
        await mirror_phase.set_phase(apiext, serving, host_annotations.FROZEN)
        await transition.read()
    frozen = transition.phases(names, host_annotations.FROZEN)
    if frozen:
        try:
            if not (changes and await _write_changes(transition, frozen, changes)):
                await _write_back(transition, frozen)
        except ApiError as error:
            # an obstacle such as a silent conversion webhook must not block clients' writes
            await mirror_phase.set_phase(apiext, frozen, host_annotations.SERVING)
            raise _goes_on(error) from error
        await transition.read()
        if transition.group.terminating.keys() & set(frozen):
            # the host may have ended the deletion before it had the objects
            raise TransitionAbortedError
        # if a definition is deleted now, apiext drops its objects with the mirror: the host has them
        given_back = (await transition.policy.read()).given_back
        await transition.policy.record(given_back=given_back.union(frozen))
        await mirror_phase.set_phase(apiext, frozen, host_annotations.LEAVING)
        await transition.read()
    leaving = transition.phases(names, host_annotations.LEAVING)
    if leaving and (await transition.policy.read()).exists:
        await _switch_to_host(transition, leaving)
    await transition.route(Routing.HOST)
    await _clean_up(transition, names)
    return Desired(routing=Routing.HOST)


async def report_blocked(transition: Transition, why: str) -> None:
    """Report on all live definitions that apiext goes on serving the group, also on those that it does not have."""
    adopted = {name: crd for name, crd in transition.live.items() if name in transition.group.adopted}
    await transition.report(ConditionReason.HAND_OVER_BLOCKED, f"apiext goes on serving the group: {why}", adopted)
    others = {name: crd for name, crd in transition.live.items() if name not in adopted}
    await transition.report(ConditionReason.BLOCKED, f"apiext goes on serving the group, without it: {why}", others)


def _goes_on(error: ApiError) -> ApiError:
    return ApiError(f"{error}; apiext goes on serving the group", code=error.code)


async def _obstacle(transition: Transition, serving: list[str]) -> str:
    """Return the reason that prevents the hand-over now, empty if there is none. Raises ApiError."""
    unread = sorted(set(serving) - transition.resources(serving).keys())
    if unread:
        return f"{', '.join(unread)} has no served version, so its objects cannot be read: serve one"
    if transition.clients.host_etcd is not None:
        async with HostStore.open(transition.clients.host_etcd, transition.clients.host_encryption) as store:
            for name in serving:
                await store.check(transition.group.crds[name])
        return ""
    record = await transition.policy.read()
    known, resources = record.summaries, transition.resources(serving)
    lost = [name for name in serving if missing_versions(transition.group.crds[name], record.host_versions.get(name, ()))]
    if lost:
        return (
            f"the host's copies of {', '.join(lost)} may be stored in a version that the definition does not have any more, "
            "and only its etcd can be given new ones: start the operator with --host-etcd-servers"
        )
    different = [name for name, one in resources.items() if await summarize(transition.in_apiext(one)) != known.get(name)]
    if not different:
        return ""
    return (
        f"objects of {', '.join(different)} have changed since it took them over, and the host's API cannot take them back "
        "with their uids: start the operator with --host-etcd-servers"
    )


async def _write_ahead(transition: Transition, serving: list[str]) -> dict[str, ResourceChanges]:
    """Write the objects to the host's store while clients change them; return where later changes begin, nothing without its etcd."""
    if transition.clients.host_etcd is None:
        return {}
    changes = await changes_from_now(transition.clients.apiext, transition.resources(serving))
    await _write_all(transition, serving)
    return changes


async def _write_changes(transition: Transition, frozen: list[str], changes: Mapping[str, ResourceChanges]) -> bool:
    """Write what has changed since `_write_ahead`; return False if apiext does not tell all of it."""
    record, resources = await transition.policy.read(), transition.resources(frozen)
    if transition.clients.host_etcd is None or resources.keys() != changes.keys():
        return False
    # writes make the recorded summaries invalid
    await transition.policy.record(summaries=record.summaries | dict.fromkeys(resources, UNKNOWN))
    try:
        found = await read_all(changes)
    except MissedChangesError as error:
        _LOG.info("apiext does not tell all changes, comparing all objects", group=transition.group.name, error=str(error))
        return False
    async with HostStore.open(transition.clients.host_etcd, transition.clients.host_encryption) as store:
        for name, changed in found.items():
            await store.apply(resources[name], changed)
    return True


async def _write_back(transition: Transition, frozen: list[str]) -> None:
    """Write the objects of the mirrors to the host's store."""
    obstacle = await _obstacle(transition, frozen)
    if obstacle:
        # an obstacle since the first check
        raise ApiError(obstacle)
    await _write_all(transition, frozen)


async def _write_all(transition: Transition, names: list[str]) -> None:
    """Write all objects that differ, if the host's etcd is known, and record them."""
    if transition.clients.host_etcd is None:
        return
    resources = transition.resources(names)
    record = await transition.policy.read()
    others = {name: one for name, one in record.summaries.items() if name not in resources}
    # writes make the recorded summaries invalid
    await transition.policy.record(summaries=others)
    written: dict[str, ContentSummary] = {}
    async with (
        HostStore.open(transition.clients.host_etcd, transition.clients.host_encryption) as store,
        transition.progress(ConditionReason.HANDING_OVER, "objects compared with the host's: {done} of {total}") as progress,
    ):
        for name, one in resources.items():
            written[name] = await _write_differences(transition, store, one, progress.of(name))
    versions = {name: [one.version] for name, one in resources.items()}
    await transition.policy.record(summaries=others | written, host_versions=record.host_versions | versions)


async def _write_differences(transition: Transition, store: HostStore, one: AdoptedResource, progress: OnPage) -> ContentSummary:
    """Write the differences, each unless its key has changed since it was read; return the summary of apiext's objects."""
    wanted = ObjectStream(transition.in_apiext(one, progress))
    batch: list[Difference] = []
    async with aclosing(differences(wanted, ObjectStream(store.objects(one)))) as found:
        async for difference in found:
            batch.append(difference)
            if len(batch) == _BATCH_SIZE:
                await store.write(one, batch)
                batch.clear()
    await store.write(one, batch)
    return wanted.summary


async def _switch_to_host(transition: Transition, leaving: list[str]) -> None:
    """Let the host serve the group, and verify that it lists all objects. If not, let apiext serve again and raise ApiError."""
    record = await transition.policy.read()
    for name in leaving:
        versions = host_definitions.add_stored_versions(record.host_versions.get(name, ()))
        await host_definitions.amend(transition.clients.host, transition.group.crds[name], versions, status=True)
    await transition.report(ConditionReason.HANDING_OVER, "clients have to list again")
    loop = asyncio.get_running_loop()
    end = loop.time() + CLIENT_RESTART_SECONDS
    contents = await _contents(transition, record.summaries, leaving)
    await asyncio.sleep(end - loop.time())
    for name in leaving:
        await reset_watches(transition.clients.host, transition.group.crds[name])
    await transition.report(ConditionReason.HANDING_OVER, "the host starts to serve")
    try:
        await transition.route(Routing.HOST, leaving)
        for name, one in transition.resources(leaving).items():
            if await summarize(transition.on_host(one)) != contents.get(name):
                raise ApiError(f"the host does not show the objects of {name} that are in its store")
    except ApiError as error:
        await resume_serving(transition, leaving)
        raise ApiError(f"{error}; apiext serves the group again") from error


async def _contents(transition: Transition, known: Mapping[str, ContentSummary], leaving: list[str]) -> dict[str, ContentSummary]:
    """Return what the host's store has of definitions: as recorded, else as it is in its etcd, to which only this operator writes."""
    found = dict(known)
    unknown = {name: one for name, one in transition.resources(leaving).items() if known.get(name) == UNKNOWN}
    if unknown and transition.clients.host_etcd is not None:
        async with HostStore.open(transition.clients.host_etcd, transition.clients.host_encryption) as store:
            for name, one in unknown.items():
                found[name] = await summarize(store.objects(one))
    return found


async def _clean_up(transition: Transition, names: list[str]) -> None:
    """Delete the policy, then the mirrors, then the finalizer. The finalizer is last: without it the operator would not continue here."""
    await transition.policy.remove()
    # before the mirrors are deleted: another client may have removed the finalizer, without which nothing would lead here again
    touched = transition.group.held.keys() | names
    moved = {name: crd for name, crd in transition.live.items() if name in touched or condition_of(crd, host_annotations.CONDITION)}
    await transition.report(ConditionReason.HANDED_OVER, HANDED_OVER, moved)
    await mirror_phase.delete_mirrors(transition.clients.apiext, names)
    await transition.read()
    for crd in transition.group.held.values():
        await host_definitions.amend(transition.clients.host, crd, host_definitions.remove_finalizer)
