"""Definitions that are being deleted on the host while apiext holds their objects.

apiext deletes the objects of the mirror as the host would. The host deletes its own copies, which clients do not see, without admission.
But it waits for finalizers of these copies, and the controllers that remove finalizers act on apiext's objects. So when the mirror is gone,
the operator clears the remaining copies, and only then removes apiext's finalizer from the definition. If apiext has never served the
definition (the policy records no summary, or the host does not proxy it yet), the host deletes its objects, the real ones, as usual.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.object_pages import AdoptedResource, is_by_apiext
from apiext.operator.adoption.store_diff import Difference
from apiext.operator.adoption.transition import Transition
from apiext.operator.api_clients import ApiClient, ApiError, Json
from apiext.operator.group_state import Desired, Routing
from apiext.operator.host_definitions import ConditionReason

_LOG: Final = get_logger(__name__)
_RETRY_SECONDS: Final = 2.0
"""Pause before the deletion of a mirror is checked again."""


async def finish_deletion(transition: Transition) -> Desired | None:
    """Delete the group's terminating definitions as far as possible; return None if the steps of the live ones may follow.

    Raises:
        ApiError: a step failed.
    """
    names = sorted(transition.group.terminating)
    apiext = transition.clients.apiext
    # controllers that remove finalizers must be able to write
    await mirror_phase.set_phase(apiext, transition.phases(names, host_annotations.FROZEN), host_annotations.SERVING)
    unserved = await _never_served(transition, names)
    if unserved:
        await _allow_writes(transition)
        await mirror_phase.delete_mirrors(apiext, unserved)
    await transition.read()
    waiting = [name for name in names if transition.group.phase(name)]
    gone = transition.resources(name for name in names if name not in (*waiting, *unserved) and name in transition.group.held)
    if gone:
        await _clear(transition, gone)
    await _release(transition, [name for name in names if name not in waiting])
    if not waiting:
        if not transition.live:
            await transition.policy.remove()
        return None
    crds = {name: transition.group.crds[name] for name in waiting if name in transition.group.crds}
    await transition.report(ConditionReason.SERVING, "apiext deletes the objects", crds)
    return Desired(routing=Routing.APIEXT, after=_RETRY_SECONDS) if not transition.live else None


async def _never_served(transition: Transition, names: list[str]) -> list[str]:
    """Return the definitions that apiext has never served."""
    record = await transition.policy.read()
    found = [name for name in names if name not in record.summaries or transition.group.phase(name) == host_annotations.IMPORTING]
    for name, one in transition.resources(transition.phases(names, host_annotations.SERVING)).items():
        if name not in found and name not in record.watches_reset and not await is_by_apiext(transition.clients.host, one):
            found.append(name)
    return found


async def _allow_writes(transition: Transition) -> None:
    """Limit the policy to the live definitions, so that clients can remove finalizers from objects of terminating ones."""
    if (await transition.policy.read()).exists:
        await transition.policy.ensure(transition.plurals)
        await transition.policy.wait_until_enforced(transition.plurals)


async def _clear(transition: Transition, resources: dict[str, AdoptedResource]) -> None:
    """Delete the host's copies of definitions without a mirror, or remove the finalizers of the copies."""
    if transition.clients.host_etcd is not None:
        async with HostStore.open(transition.clients.host_etcd, transition.clients.host_encryption) as store:
            for name, one in resources.items():
                await store.check(transition.group.crds[name])
                async with aclosing(store.objects(one)) as found:
                    left = [Difference(None, present) async for present in found]
                await store.write(one, left)
        return
    if transition.group.mirrors:
        # the host proxies the group for the live definitions, so the operator cannot reach the copies
        return
    versions = (await transition.policy.read()).host_versions
    for name in resources:
        # the host must decode its copies to list and delete them
        change = host_definitions.make_readable(versions.get(name, ()))
        await host_definitions.amend(transition.clients.host, transition.group.crds[name], change)
    await transition.route(Routing.HOST, resources)
    await _allow_writes(transition)
    for one in resources.values():
        async with aclosing(transition.on_host(one)) as found:
            async for present in found:
                if present.content["metadata"].get("finalizers"):
                    await _remove_finalizers(transition, one, present.namespace, present.name)


async def _release(transition: Transition, names: list[str]) -> None:
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
