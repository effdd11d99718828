"""Admission plugins in their order, and the informers of host objects that they need.

Mirrors apiserver pkg/server/options/admission.go and kube-apiserver's order (kubernetes pkg/kubeapiserver/options/plugins.go).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from apiext.admission.chain import Chain
from apiext.admission.lifecycle import NamespaceLifecycle
from apiext.meta.builtin_resources import NAMESPACES
from apiext.registry.builtin.namespace import NAMESPACE_KIND
from apiext.scheduling.tasks import run_until_closed
from apiext.serving.namespace_controller import namespace_phase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.admission.attributes import Admission
    from apiext.admission.namespace_informer import NamespaceInformer
    from apiext.admission.resourcequota.access import QuotaAccess
    from apiext.server.composition.access import AccessControl
    from apiext.server.host.clients import HostClients
    from apiext.server.options.options import ServerOptions
    from apiext.storage.factory import StoreFactory
    from apiext.webhook.client import WebhookClient

    HostInformer = NamespaceInformer | QuotaAccess


def open_admission(
    options: ServerOptions, stores: StoreFactory, clients: HostClients, access: AccessControl, stack: AsyncExitStack
) -> tuple[Admission, Sequence[HostInformer]]:
    """Return the enabled plugins and their informers, which `stack` stops.

    Behind a host, the plugins use the host's namespaces and quotas, else the namespaces in `stores`.

    Raises:
        StartError: the host's address or credentials are invalid.
    """
    disabled = options.admission_plugins.disabled
    if options.host is None:
        phase = partial(namespace_phase, NAMESPACE_KIND.rest(stores.store(NAMESPACES.stored_resource)))
        plugins: list[Admission] = [NamespaceLifecycle(phase)] if NamespaceLifecycle.NAME not in disabled else []
        return Chain([*plugins, *_escalation(access)]), ()
    return _host_admission(clients.client(options.host), disabled, stack)


def _escalation(access: AccessControl) -> list[Admission]:
    """Return the check against escalation of mode RBAC, which comes last."""
    if access.policy is None:
        return []
    from apiext.admission.escalation import EscalationCheck

    return [EscalationCheck(access.policy, access.modes.authorize)]


def _host_admission(client: WebhookClient, disabled: frozenset[str], stack: AsyncExitStack) -> tuple[Admission, Sequence[HostInformer]]:
    # Imported here, since most servers have no host.
    from apiext.admission import namespace_informer
    from apiext.admission.resourcequota import access
    from apiext.admission.resourcequota.evaluator import Evaluator, ResourceQuota
    from apiext.webhook.reflector import Reflector

    plugins: list[Admission] = []
    informers: list[HostInformer] = []
    if NamespaceLifecycle.NAME not in disabled:
        phases = namespace_informer.NamespaceInformer(client.ask)
        reflector = Reflector(client, namespace_informer.COLLECTION, phases, reduce=namespace_informer.strip_namespace)
        run_until_closed(stack, reflector.run())
        plugins.append(NamespaceLifecycle(phases))
        informers.append(phases)
    if ResourceQuota.NAME not in disabled:
        quotas = access.QuotaAccess(client.ask)
        run_until_closed(stack, Reflector(client, access.COLLECTION, quotas).run())
        evaluator = Evaluator(quotas)
        stack.push_async_callback(evaluator.close)
        plugins.append(ResourceQuota(evaluator))
        informers.append(quotas)
    return Chain(plugins), informers
