"""The connections to the servers that are asked about tokens and requests, where the options name some.

Mirrors apiserver pkg/server/options (authentication.go, authorization.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.authorization.webhook import Reviews
    from apiext.server.options import AuthorizationOptions, Delegate
    from apiext.webhook.client import WebhookClient


def open_client(delegate: Delegate, stack: AsyncExitStack) -> WebhookClient:
    """Connections to a server; `stack` closes them.

    Raises:
        StartError: its kubeconfig, or the pod's service account, cannot be used.
    """
    from apiext.webhook import kubeconfig, service_account
    from apiext.webhook.client import WebhookClient

    try:
        endpoint = service_account.load() if delegate.kubeconfig is None else kubeconfig.load(delegate.kubeconfig)
    except kubeconfig.KubeconfigError as error:
        raise StartError(f"{delegate.flag}: {error}") from error
    client = WebhookClient(endpoint)
    stack.push_async_callback(client.close)
    return client


def open_reviews(options: AuthorizationOptions, stack: AsyncExitStack) -> Reviews | None:
    """Who decides with mode Webhook, None without it; `stack` closes the connections.

    Raises:
        StartError: the other server's address or credentials cannot be used.
    """
    if "Webhook" not in options.modes or options.delegate is None:
        return None
    from apiext.authorization.webhook import Reviews

    client = open_client(options.delegate, stack)
    return Reviews(client.post, authorized_ttl=options.authorized_ttl, unauthorized_ttl=options.unauthorized_ttl)
