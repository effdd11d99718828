"""The connection to the server that decides about requests, where the options name one (apiserver pkg/server/options/authorization.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.server.errors import StartError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from apiext.authorization.webhook import Reviews
    from apiext.server.options import AuthorizationOptions


def open_reviews(options: AuthorizationOptions, stack: AsyncExitStack) -> Reviews | None:
    """Who decides with mode Webhook, None without it; `stack` closes the connections.

    Raises:
        StartError: the kubeconfig cannot be used.
    """
    if "Webhook" not in options.modes or options.kubeconfig is None:
        return None
    from apiext.authorization.webhook import Reviews
    from apiext.webhook.client import WebhookClient
    from apiext.webhook.kubeconfig import KubeconfigError, load

    try:
        client = WebhookClient(load(options.kubeconfig))
    except KubeconfigError as error:
        raise StartError(f"--authorization-kubeconfig: {error}") from error
    stack.push_async_callback(client.close)
    return Reviews(client.post, authorized_ttl=options.authorized_ttl, unauthorized_ttl=options.unauthorized_ttl)
