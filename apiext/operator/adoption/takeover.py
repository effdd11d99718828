"""Take-over of a group by apiext: copy its objects, stop writes at the host, copy the rest, let apiext serve, let the host proxy.

The state is kept in the cluster, so that any replica can continue:

| mirrors | policy | next step |
| --- | --- | --- |
| none, or Importing | missing | copy all objects while clients write at the host |
| Importing | exists | copy what changed since, or differences until there are none, twice |
| Serving | exists | let the host proxy, and end its watches |
| Serving | records that the host's watches have ended | none |

Until the mirrors are Serving, clients notice nothing, and the take-over is undone by deleting the copies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import IMPORT_PATH
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.operator import host_definitions
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.object_pages import AdoptedResource, OnPage, check_conversion, is_by_apiext, list_objects, resource
from apiext.operator.adoption.polling import retry_on_codes, until
from apiext.operator.adoption.resource_changes import MissedChangesError, ResourceChanges, changes_from_now, current_revision, read_all
from apiext.operator.adoption.store_diff import (
    EMPTY,
    UNKNOWN,
    ContentSummary,
    Difference,
    ObjectStream,
    StoredObject,
    differences,
    summarize,
)
from apiext.operator.adoption.transition import Transition, TransitionAbortedError, served_resources
from apiext.operator.adoption.watch_reset import reset_watches
from apiext.operator.api_clients import ApiClient, ApiError
from apiext.operator.group_state import Desired, Routing
from apiext.operator.host_definitions import ConditionReason, stored_versions

_LOG: Final = get_logger(__name__)
_SERVES: Final = "apiext serves the group"
_ADMISSION: Final = "/readyz/admission"
SETTLE_SECONDS: Final = 2.0
"""Pause after the host has stopped writing: requests that were admitted before end within it, and further kube-apiservers stop, too."""
HELD_SETTLE_SECONDS: Final = 1.0
"""The same if the host asks apiext before writes: all kube-apiservers do before they know the policy."""
_FEW_CHANGES: Final = 500
"""Changed objects that are copied while clients wait."""
_MAX_CATCH_UPS: Final = 5
"""Attempts to have few changes left while clients write."""


_LINES_TYPE: Final = {"Content-Type": "application/x-ndjson"}
_MAX_LINES: Final = 500
_MAX_BYTES: Final = 4_000_000
"""Limits of a batch, in objects and bytes: the importer sends it when it reaches one."""
_RETRIED_CODES: Final = frozenset({409, 429, 503})
"""Responses of a replica that has not seen the mirror's phase yet, or is overloaded."""


@dataclass(frozen=True, slots=True)
class CopyResult:
    """The result of one pass: the summary of the source, and the number of objects that differed at the target."""

    source: ContentSummary
    different: int


async def copy(
    source: AsyncGenerator[StoredObject, None], target: AsyncGenerator[StoredObject, None], apiext: ApiClient, definition: str
) -> CopyResult:
    """Import all objects of a definition that differ between source and target. Repeat an interrupted call.

    Raises:
        ApiError: a side cannot be read or is out of order, or apiext refuses an object.
    """
    wanted, different = ObjectStream(source), 0
    importer = Importer(apiext, definition)
    try:
        async with aclosing(source), aclosing(target), aclosing(differences(wanted, ObjectStream(target))) as found:
            async for difference in found:
                different += 1
                await importer.add(difference)
        await importer.flush()
    finally:
        await importer.close()
    return CopyResult(wanted.summary, different)


class Importer:
    """Sends differences to apiext in batches. While a request runs, it collects the next batch."""

    def __init__(self, apiext: ApiClient, definition: str) -> None:
        self._apiext = apiext
        self._path = f"{IMPORT_PATH}{definition}"
        self._lines: list[bytes] = []
        self._size = 0
        self._sending: asyncio.Task[None] | None = None

    async def add(self, difference: Difference) -> None:
        """Add a difference to the batch. Raises ApiError, possibly for an earlier batch."""
        line = _line(difference)
        self._lines.append(line)
        self._size += len(line)
        if len(self._lines) >= _MAX_LINES or self._size >= _MAX_BYTES:
            await self._send()

    async def flush(self) -> None:
        """Send the rest, and wait for the responses. Raises ApiError."""
        if self._lines:
            await self._send()
        await self._wait_for_response()

    async def close(self) -> None:
        """Cancel the request in progress."""
        if self._sending is not None:
            await end_tasks(self._sending)

    async def _send(self) -> None:
        await self._wait_for_response()
        batch, self._lines, self._size = b"\n".join(self._lines) + b"\n", [], 0
        self._sending = asyncio.create_task(retry_on_codes(lambda: self._post(batch), codes=_RETRIED_CODES))

    async def _wait_for_response(self) -> None:
        if self._sending is not None:
            sending, self._sending = self._sending, None
            await sending

    async def _post(self, batch: bytes) -> None:
        code, data = await self._apiext.request("POST", self._path, batch, headers=_LINES_TYPE)
        if code != 200:
            raise self._apiext.status_error("POST", self._path, code, data)


def _line(difference: Difference) -> bytes:
    if difference.wanted is not None:
        return json_codec.dumps(difference.wanted.content)
    gone = difference.present
    return json_codec.dumps({"delete": {"namespace": gone.namespace, "name": gone.name}} if gone else {})


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
    await undo_hand_over(transition, names)
    importing = transition.phases(names, host_annotations.IMPORTING)
    if importing:
        await transition.run_while_wanted(names, _import(transition, importing))
    moments = await _moments(transition, importing)
    await mirror_phase.set_phase(transition.clients.apiext, importing, host_annotations.SERVING)
    await transition.policy.ensure(transition.plurals)
    await _proxy(transition, names)
    await _summarize(transition, moments)
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


async def undo_hand_over(transition: Transition, names: list[str]) -> None:
    """Let apiext serve again after a cancelled hand-over; the policy has denied all writes at the host. Raises ApiError."""
    leaving = transition.phases(names, host_annotations.FROZEN, host_annotations.LEAVING)
    if leaving:
        await transition.policy.ensure(transition.plurals)
        await transition.policy.wait_until_enforced(transition.plurals)
        await resume_serving(transition, leaving)


async def resume_serving(transition: Transition, leaving: list[str]) -> None:
    """Let the host proxy and apiext serve. A later step ends watches that clients opened at the host meanwhile. Raises ApiError."""
    await transition.policy.record(watches_reset=(), given_back=())
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
    changes: dict[str, ResourceChanges] = {}
    if not record.exists:
        await _check_admission(transition.clients.apiext)
        changes = await _copy_all(transition, copied)
    await transition.report(ConditionReason.ADOPTING, "the host stops writing")
    await transition.policy.ensure(transition.plurals)
    await transition.policy.wait_until_enforced(transition.plurals)
    summaries = await _copy_rest(transition, copied, changes)
    await transition.read()
    versions = {name: stored_versions(crd) for name, crd in transition.group.crds.items() if name in copied}
    before = dict.fromkeys(proxied, EMPTY) | record.summaries
    await transition.policy.record(summaries=before | summaries, host_versions=record.host_versions | versions)


async def _copy_all(transition: Transition, copied: Mapping[str, AdoptedResource]) -> dict[str, ResourceChanges]:
    """Copy all objects, and what clients change meanwhile until that is little; return where later changes begin.

    Nothing is returned if the host cannot tell them.
    """
    changes = await changes_from_now(transition.clients.host, copied)
    async with transition.progress(ConditionReason.ADOPTING, "objects copied: {done} of {total}") as progress:
        for name, one in copied.items():
            await _copy(transition, one, progress.of(name))
    # check now, before clients notice anything: apiext may not reach a conversion webhook that the host reaches
    for name in copied:
        for one in served_resources([transition.group.crds[name]]):
            await check_conversion(transition.clients.apiext, one)
    for _ in range(_MAX_CATCH_UPS):
        count = await _catch_up(transition, changes)
        if count is None:
            return {}
        if count <= _FEW_CHANGES:
            break
    return changes


async def _catch_up(transition: Transition, changes: Mapping[str, ResourceChanges]) -> int | None:
    """Import all changes until now; return the number of changed objects, None if the host does not tell all of them."""
    try:
        found = await read_all(changes)
    except MissedChangesError as error:
        _LOG.info("host does not tell all changes, comparing all objects", group=transition.group.name, error=str(error))
        return None
    for name, changed in found.items():
        importer = Importer(transition.clients.apiext, name)
        try:
            for change in changed:
                await importer.add(change)
            await importer.flush()
        finally:
            await importer.close()
    return sum(map(len, found.values()))


async def _copy_rest(
    transition: Transition, copied: Mapping[str, AdoptedResource], changes: Mapping[str, ResourceChanges]
) -> dict[str, ContentSummary]:
    """Copy the rest once the host has stopped writing; return a summary of the objects by definition, UNKNOWN unless all were read.

    The host tells the changes since the copy, so that clients wait for a moment only. If it cannot, all objects are compared.
    """
    if changes:
        await asyncio.sleep(HELD_SETTLE_SECONDS if transition.policy.is_held else SETTLE_SECONDS)
        if await _catch_up(transition, changes) is not None:
            return dict.fromkeys(copied, UNKNOWN)
    return await _copy_until_equal(transition, copied)


async def _moments(transition: Transition, importing: list[str]) -> dict[str, int]:
    """Return apiext's present revision of the definitions whose contents are not known: that of the copy, before clients write."""
    summaries = (await transition.policy.read()).summaries if importing else {}
    unknown = {name: one for name, one in transition.resources(importing).items() if summaries.get(name) == UNKNOWN}
    return {name: await current_revision(transition.clients.apiext, one) for name, one in unknown.items()}


async def _summarize(transition: Transition, moments: Mapping[str, int]) -> None:
    """Record the contents of definitions at a revision, which a hand-over without the host's etcd compares. Clients write meanwhile."""
    if not moments:
        return
    resources = transition.resources(moments)
    found = {name: await summarize(list_objects(transition.clients.apiext, resources[name], at=at)) for name, at in moments.items()}
    await transition.policy.record(summaries=(await transition.policy.read()).summaries | found)


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
        async with transition.progress(ConditionReason.ADOPTING, "objects compared: {done} of {total}") as progress:
            results = {name: await _copy(transition, one, progress.of(name)) for name, one in resources.items()}
        if all(name in last and last[name].source == one.source and not one.different for name, one in results.items()):
            break
        last = results
        await asyncio.sleep(SETTLE_SECONDS)
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
