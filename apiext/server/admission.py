"""The admission plug-ins in their order, and what they follow in the cluster around the server.

Mirrors apiserver pkg/server/options/admission.go and kube-apiserver's order (kubernetes pkg/kubeapiserver/options/plugins.go).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from apiext.admission.chain import Chain
from apiext.admission.lifecycle import NamespaceLifecycle
from apiext.server.host.review_clients import open_client

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AsyncExitStack

    from apiext.admission.attributes import Admission
    from apiext.admission.lifecycle import NamespacePhase
    from apiext.server.options import Delegate, Options
    from apiext.webhook.reflector import Reflector


class Followed(Protocol):
    """Objects of the host that a plug-in needs to know."""

    @property
    def type_name(self) -> str:
        """What they are, in the reference's words."""
        ...

    @property
    def synced(self) -> bool:
        """Whether they are known."""
        ...


def open_admission(options: Options, own: NamespacePhase, stack: AsyncExitStack) -> tuple[Admission, Sequence[Followed]]:
    """The plug-ins that the options leave, and what they follow; `stack` ends that. `own` knows the server's own namespaces.

    Raises:
        StartError: the host's address or credentials cannot be used.
    """
    disabled = options.disabled_admission_plugins
    if options.host is None:
        return Chain([NamespaceLifecycle(own)] if NamespaceLifecycle.NAME not in disabled else []), ()
    return _of_host(options.host, disabled, stack)


def _of_host(host: Delegate, disabled: frozenset[str], stack: AsyncExitStack) -> tuple[Admission, Sequence[Followed]]:
    # loaded where there is a host, which is seldom
    from apiext.admission import namespace_informer
    from apiext.admission.resourcequota import access
    from apiext.admission.resourcequota.evaluator import Evaluator
    from apiext.admission.resourcequota.plugin import ResourceQuota
    from apiext.webhook.reflector import Reflector

    client = open_client(host, stack)
    plugins: list[Admission] = []
    followed: list[Followed] = []
    if NamespaceLifecycle.NAME not in disabled:
        phases = namespace_informer.FollowedNamespaces(client.ask)
        _follow(Reflector(client, namespace_informer.COLLECTION, phases, reduce=namespace_informer.reduced), stack)
        plugins.append(NamespaceLifecycle(phases))
        followed.append(phases)
    if ResourceQuota.NAME not in disabled:
        quotas = access.QuotaAccess(client.ask)
        _follow(Reflector(client, access.COLLECTION, quotas), stack)
        evaluator = Evaluator(quotas)
        stack.push_async_callback(evaluator.close)
        plugins.append(ResourceQuota(evaluator))
        followed.append(quotas)
    return Chain(plugins), followed


def _follow(reflector: Reflector, stack: AsyncExitStack) -> None:
    task = asyncio.create_task(reflector.run())
    stack.callback(task.cancel)
