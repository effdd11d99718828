"""Definitions that are being deleted on the host while apiext holds their objects.

apiext deletes the objects of the mirror as the host would. The host deletes its own copies, which clients do not see, without admission.
But it waits for finalizers of these copies, and the controllers that remove finalizers act on apiext's objects. So when the mirror is gone,
the operator clears the remaining copies, and only then removes apiext's finalizer from the definition. If apiext has never served the
definition (the policy records nothing of it, or the host does not proxy it yet), the host deletes its objects, the real ones, as usual.

The finalizer decides nothing here: another client may have removed it before the deletion, and then the host ends the deletion when its
copies are gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption.admission_policy import PolicyRecord
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.object_pages import AdoptedResource, is_by_apiext, resource_in
from apiext.operator.adoption.polling import until
from apiext.operator.adoption.store_diff import Difference
from apiext.operator.adoption.transition import Transition, served_resources
from apiext.operator.api_clients import CRDS, ApiClient, ApiError, Json
from apiext.operator.group_state import Desired, Routing, served_versions, service_name
from apiext.operator.host_definitions import ConditionReason

_LOG: Final = get_logger(__name__)
RETRY_SECONDS: Final = 2.0
"""Pause before the deletion of a mirror is checked again."""


async def finish_deletion(transition: Transition) -> Desired | None:
    """Delete the group's terminating definitions as far as possible; return None if the steps of the live ones may follow.

    Raises:
        ApiError: a step failed.
    """
    names = sorted(transition.group.terminating)
    record = await transition.policy.read()
    frozen = transition.phases(names, host_annotations.FROZEN, *((host_annotations.LEAVING,) if record.exists else ()))
    if record.given_back.intersection(frozen):
        await transition.policy.record(given_back=record.given_back.difference(frozen))
    # controllers that remove finalizers must be able to write
    await mirror_phase.set_phase(transition.clients.apiext, frozen, host_annotations.SERVING)
    await transition.read()
    unserved = await _never_served(transition, names, record)
    if unserved:
        await _let_host_delete(transition, unserved)
    waiting = [name for name in names if transition.group.phase(name)]
    # not those whose deletion has begun since
    done = {name: crd for name, crd in transition.group.terminating.items() if name in names and name not in waiting}
    copied = {name: crd for name, crd in done.items() if name not in unserved}
    if copied:
        await _clear(transition, copied, record)
    await forget(transition, done)
    await _release(transition, done)
    if not waiting:
        if not transition.live:
            await transition.policy.remove()
        return None
    if unrecorded := set(waiting) - record.known:
        # another client has deleted the policy
        await transition.policy.ensure(transition.plurals)
        await transition.policy.record(watches_reset=record.watches_reset | unrecorded)
    crds = {name: transition.group.crds[name] for name in waiting if name in transition.group.crds}
    await transition.report(ConditionReason.SERVING, "apiext deletes the objects", crds)
    return Desired(routing=Routing.APIEXT, after=RETRY_SECONDS) if not transition.live else None


async def forget(transition: Transition, names: Iterable[str]) -> None:
    """Remove definitions from the record of the policy: a later definition of the same name is another one. Raises ApiError."""
    record, gone = await transition.policy.read(), frozenset(names)
    if not gone & (record.known | record.host_versions.keys() | record.given_back):
        return
    await transition.policy.record(
        summaries={name: one for name, one in record.summaries.items() if name not in gone},
        host_versions={name: one for name, one in record.host_versions.items() if name not in gone},
        watches_reset=record.watches_reset - gone,
        given_back=record.given_back - gone,
    )


async def _never_served(transition: Transition, names: list[str], record: PolicyRecord) -> list[str]:
    """Return the definitions whose objects clients have never written through apiext, or write through the host again."""
    found = transition.phases(names, host_annotations.IMPORTING, host_annotations.LEAVING)
    for name in transition.phases(names, None):
        if name in record.given_back or (name not in record.known and not _is_hidden(transition, name)):
            found.append(name)
    for name in transition.phases(names, host_annotations.SERVING):
        if name not in record.watches_reset and not await _is_proxied(transition, name):
            found.append(name)
    return sorted(found)


def _is_hidden(transition: Transition, name: str) -> bool:
    """Return whether the host sends requests of all versions of a definition to this apiext, so that clients do not see its objects."""
    group = transition.group
    services = {found["spec"]["version"]: service_name(found) for found in group.api_services.values()}
    versions = served_versions([group.crds[name]])
    return bool(versions) and all(services.get(version) == group.service for version in versions)


async def _is_proxied(transition: Transition, name: str) -> bool:
    """Return whether the host proxies a version of a definition to apiext. Raises ApiError."""
    versions = served_resources([transition.group.crds[name]])
    return any([await is_by_apiext(transition.clients.host, one) for one in versions])


async def _let_host_delete(transition: Transition, names: list[str]) -> None:
    """Drop the mirrors of definitions that the host deletes itself, with its own objects."""
    await _allow_writes(transition)
    if not any(name not in names for name in transition.group.adopted):
        await transition.route(Routing.HOST)
    await mirror_phase.delete_mirrors(transition.clients.apiext, [name for name in names if transition.group.phase(name)])
    await transition.read()


async def _allow_writes(transition: Transition) -> None:
    """Limit the policy to the live definitions, so that clients can remove finalizers from objects of terminating ones."""
    if (await transition.policy.read()).exists:
        await transition.policy.ensure(transition.plurals)
        await transition.policy.wait_until_enforced(transition.plurals)


async def _clear(transition: Transition, crds: dict[str, Json], record: PolicyRecord) -> None:
    """Delete the host's copies of definitions without a mirror, or remove the finalizers of the copies; no client sees them."""
    resources = {name: resource_in(host_annotations.CLEANUP_VERSION, crd) for name, crd in crds.items()}
    if transition.clients.host_etcd is not None:
        async with HostStore.open(transition.clients.host_etcd, transition.clients.host_encryption) as store:
            for name, one in resources.items():
                await store.check(crds[name])
                async with aclosing(store.objects(one)) as found:
                    left = [Difference(None, present) async for present in found]
                await store.write(one, left)
        return
    await _allow_writes(transition)
    for name, one in resources.items():
        # the host must decode its copies to list and delete them
        change = host_definitions.make_readable(record.host_versions.get(name, ()))
        if await host_definitions.amend(transition.clients.host, crds[name], change) is not None:
            await _remove_finalizers_of_copies(transition, one)


async def _remove_finalizers_of_copies(transition: Transition, one: AdoptedResource) -> None:
    host = transition.clients.host

    async def is_served() -> bool:
        code, _ = await host.request("GET", one.empty_list)
        return code == HTTPStatus.OK or await host.find(f"{CRDS}/{one.definition}") is None

    await until(is_served, lambda: f"the host does not serve {one.path}, by which the operator removes finalizers of old copies,")
    if await host.find(f"{CRDS}/{one.definition}") is None:
        return
    async with aclosing(transition.on_host(one)) as found:
        async for present in found:
            if present.content["metadata"].get("finalizers"):
                await _remove_finalizers(transition, one, present.namespace, present.name)


async def _release(transition: Transition, names: Iterable[str]) -> None:
    """Remove apiext's finalizer from definitions without objects. A mirror that disappears meanwhile has to wait for `_clear`."""
    held = [transition.group.held[name] for name in names if name in transition.group.held]
    for crd in held:
        await release(transition.clients.host, crd)
    if held:
        await transition.read()


async def release(host: ApiClient, crd: Json) -> Json | None:
    """Remove apiext's finalizer from a terminating definition, and return the definition, None if it was deleted. Raises ApiError."""
    released = await host_definitions.amend(host, crd, host_definitions.remove_finalizer)
    _LOG.info("finalizer of terminating definition removed", crd=crd["metadata"]["name"])
    return released


async def _remove_finalizers(transition: Transition, one: AdoptedResource, namespace: str, name: str) -> None:
    resource = f"namespaces/{namespace}/{one.plural}" if namespace else one.plural
    path = f"/apis/{one.group}/{one.version}/{resource}/{name}"
    try:
        await transition.clients.host.patch(path, {"metadata": {"finalizers": None}})
    except ApiError as error:
        if error.code != 404:
            raise
