"""Clients of other servers in the options: the host, and the servers of TokenReviews and SubjectAccessReviews.

Mirrors apiserver pkg/server/options (authentication.go, authorization.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path

    from apiext.api.authorization.authorizer import Authorize
    from apiext.base.webhook.client import WebhookClient
    from apiext.server.options.options import AuthorizationOptions, KubeconfigSource


class HostClients:
    """One client for each distinct kubeconfig, so that all calls of the host share connections; `stack` closes them."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._clients: dict[Path | None, WebhookClient] = {}

    def client(self, delegate: KubeconfigSource) -> WebhookClient:
        """Return the client of the server in a kubeconfig.

        Raises:
            StartError: its kubeconfig, or the pod's service account, cannot be used.
        """
        key = delegate.kubeconfig.resolve() if delegate.kubeconfig is not None else None
        if key not in self._clients:
            self._clients[key] = self._open(delegate)
        return self._clients[key]

    def _open(self, delegate: KubeconfigSource) -> WebhookClient:
        # imported only if the options name another server
        from apiext.base.webhook.client import WebhookClient
        from apiext.base.webhook.clientcmd import kubeconfig, service_account

        try:
            endpoint = service_account.load() if delegate.kubeconfig is None else kubeconfig.load(delegate.kubeconfig)
        except kubeconfig.KubeconfigError as error:
            raise StartError(f"{delegate.flag}: {error}") from error
        client = WebhookClient(endpoint)
        self._stack.push_async_callback(client.close)
        return client


def open_authorizer(options: AuthorizationOptions, clients: HostClients) -> Authorize | None:
    """Return the authorizer that sends SubjectAccessReviews in authorization mode Webhook, None without that mode.

    Raises:
        StartError: the other server's address or credentials cannot be used.
    """
    if "Webhook" not in options.modes or options.delegate is None:
        return None
    from apiext.api.authorization.webhook import SubjectAccessReviews

    client = clients.client(options.delegate)
    return SubjectAccessReviews(client.post, authorized_ttl=options.authorized_ttl, unauthorized_ttl=options.unauthorized_ttl).authorize
