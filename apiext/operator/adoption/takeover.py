"""Take-over of a group by apiext: copy its objects, stop writes at the host, copy the rest, let apiext serve, let the host proxy.

The state is kept in the cluster, so that any replica can continue:

| mirrors | policy | next step |
| --- | --- | --- |
| none, or Importing | missing | copy all objects while clients write at the host |
| Importing | exists | copy differences until there are none, twice |
| Serving | exists | let the host proxy, and end its watches |
| Serving | records that the host's watches have ended | none |

Until the mirrors are Serving, clients notice nothing, and the take-over is undone by deleting the copies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from apiext.base.meta import host_annotations
from apiext.operator import host_definitions
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.importer import CopyResult, copy
from apiext.operator.adoption.object_pages import AdoptedResource, OnPage, check_conversion, is_by_apiext, resource
from apiext.operator.adoption.polling import until
from apiext.operator.adoption.store_diff import EMPTY, ContentSummary
from apiext.operator.adoption.transition import Transition, TransitionAbortedError, served_resources
from apiext.operator.adoption.watch_reset import reset_watches
from apiext.operator.api_clients import ApiClient, ApiError
from apiext.operator.group_state import Desired, Routing
from apiext.operator.host_definitions import ConditionReason, stored_versions

_SERVES: Final = "apiext serves the group"
_ADMISSION: Final = "/readyz/admission"
_SETTLE_SECONDS: Final = 2.0
"""Pause between two equal lists of the host: requests that were admitted before the policy was enforced end within it."""


async def adopt(transition: Transition) -> Desired:
    """Move the group to apiext, starting from its current state.

    Raises:
        ApiError: a step failed.
        TransitionAbortedError: the take-over is not wanted any more, or concerns other definitions now.
    """
    names = sorted(transition.live)
    await _check_way_back(transition, names)
    for crd in transition.live.values():
        await host_definitions.amend(transition.clients.host, crd, host_definitions.add_finalizer(transition.group.service))
    missing = [name for name in names if not mirror_phase.is_mirrored(transition.group, name)]
    if missing:
        await transition.report(ConditionReason.ADOPTING, "waiting for apiext to have the definitions")
        problem = f"apiext does not follow {', '.join(missing)}: is it started with --crd-selector, for this host?"
        await until(lambda: _are_mirrored(transition, names), lambda: problem)
    await _undo_hand_over(transition, names)
    importing = transition.phases(names, host_annotations.IMPORTING)
    if importing:
        await transition.run_while_wanted(names, _import(transition, importing))
        await mirror_phase.set_phase(transition.clients.apiext, importing, host_annotations.SERVING)
    await transition.policy.ensure(transition.plurals)
    await _proxy(transition, names)
    await transition.report(ConditionReason.SERVING, _SERVES, transition.live)
    return Desired(routing=Routing.APIEXT)


async def _check_way_back(transition: Transition, names: list[str]) -> None:
    """Raise ApiError if a hand-over could not read the host's etcd because the host encrypts. Check before anything is changed."""
    etcd, encryption = transition.clients.host_etcd, transition.clients.host_encryption
    new = [name for name in names if transition.group.phase(name) in {None, host_annotations.IMPORTING}]
    if etcd is None or not new:
        return
    async with HostStore.open(etcd, encryption) as store:
        for name in new:
            crd = transition.group.crds[name]
            one = resource(crd)
            if one is not None:
                await store.check_decrypted(crd, one)


async def _are_mirrored(transition: Transition, names: list[str]) -> bool:
    """Read the group again; return whether apiext has mirrors of all definitions.

    Raises:
        TransitionAbortedError: the take-over is not wanted any more.
    """
    await transition.read()
    if not transition.is_still_wanted(names):
        raise TransitionAbortedError
    return all(mirror_phase.is_mirrored(transition.group, name) for name in names)


async def _undo_hand_over(transition: Transition, names: list[str]) -> None:
    """Let apiext serve again after a cancelled hand-over; the policy has denied all writes at the host."""
    leaving = transition.phases(names, host_annotations.FROZEN, host_annotations.LEAVING)
    if leaving:
        await transition.policy.ensure(transition.plurals)
        await transition.policy.wait_until_enforced(transition.plurals)
        await resume_serving(transition, leaving)


async def resume_serving(transition: Transition, leaving: list[str]) -> None:
    """Let the host proxy and apiext serve. A later step ends watches that clients opened at the host meanwhile. Raises ApiError."""
    await transition.policy.record(watches_reset=())
    await transition.route(Routing.APIEXT)
    await mirror_phase.set_phase(transition.clients.apiext, leaving, host_annotations.SERVING)
    await transition.wait_until_routed(Routing.APIEXT, leaving)


async def _import(transition: Transition, importing: list[str]) -> None:
    """Copy the objects, stop writes at the host, and copy the remaining differences."""
    resources = transition.resources(importing)
    # while apiext serves the group, clients cannot create objects of a new definition at the host
    proxied = {name for name, one in resources.items() if await is_by_apiext(transition.clients.host, one)}
    copied = {name: one for name, one in resources.items() if name not in proxied}
    record = await transition.policy.read()
    if not record.exists:
        await _check_admission(transition.clients.apiext)
        async with transition.progress(ConditionReason.ADOPTING, "copied {done} of {total} objects") as progress:
            for name, one in copied.items():
                await _copy(transition, one, progress.of(name))
        # check now, before clients notice anything: apiext may not reach a conversion webhook that the host reaches
        for name in copied:
            for one in served_resources([transition.group.crds[name]]):
                await check_conversion(transition.clients.apiext, one)
    await transition.report(ConditionReason.ADOPTING, "the host stops writing")
    await transition.policy.ensure(transition.plurals)
    await transition.policy.wait_until_enforced(transition.plurals)
    summaries = await _copy_until_equal(transition, copied)
    await transition.read()
    versions = {name: stored_versions(crd) for name, crd in transition.group.crds.items() if name in copied}
    before = dict.fromkeys(proxied, EMPTY) | record.summaries
    await transition.policy.record(summaries=before | summaries, host_versions=record.host_versions | versions)


async def _check_admission(apiext: ApiClient) -> None:
    """Raise ApiError if apiext does not know the host's webhook configurations and policies: it would refuse all writes.

    An apiext of an earlier release has no such check, and would admit them without webhooks and policies.
    """
    code, data = await apiext.request("GET", _ADMISSION)
    if code == HTTPStatus.NOT_FOUND:
        raise ApiError("apiext is of an earlier release, which does not call the host's webhooks: update it", code=code)
    if code != HTTPStatus.OK:
        raise ApiError(f"apiext is not ready: {data.decode(errors='replace').removeprefix('internal server error: ').strip()}", code=code)


async def _copy_until_equal(transition: Transition, resources: Mapping[str, AdoptedResource]) -> dict[str, ContentSummary]:
    """Copy differences until two passes in a row find the same objects at the host and no difference at apiext."""
    results: dict[str, CopyResult] = {}
    last: dict[str, CopyResult] = {}
    while resources:
        async with transition.progress(ConditionReason.ADOPTING, "compared {done} of {total} objects") as progress:
            results = {name: await _copy(transition, one, progress.of(name)) for name, one in resources.items()}
        if all(name in last and last[name].source == one.source and not one.different for name, one in results.items()):
            break
        last = results
        await asyncio.sleep(_SETTLE_SECONDS)
    return {name: one.source for name, one in results.items()}


async def _copy(transition: Transition, one: AdoptedResource, progress: OnPage) -> CopyResult:
    return await copy(transition.on_host(one, progress), transition.in_apiext(one), transition.clients.apiext, one.definition)


async def _proxy(transition: Transition, names: list[str]) -> None:
    """Let the host proxy the group, and end the watches on its own store."""
    done = (await transition.policy.read()).watches_reset
    if done.issuperset(names):
        return
    await transition.report(ConditionReason.ADOPTING, "the host starts to proxy")
    # if a definition is deleted meanwhile, the host may never route its versions
    await transition.run_while_wanted(names, transition.route(Routing.APIEXT, names))
    for name in sorted(set(names) - done):
        await reset_watches(transition.clients.host, transition.group.crds[name])
    await transition.policy.record(watches_reset=names)
