"""The admission webhook of the long run, which most writes must pass."""

from pathlib import Path
from typing import Any, Final

from hack.lib.servers.caller import Caller
from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.soak.long.collection import GROUP, PLURAL

_MODULE: Final = "hack.lib.soak.admission_webhook"
_CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_TIMEOUT: Final = 2
"""Seconds that a call may take."""


def server(folder: Path) -> WebhookServer:
    """Return the webhook, which the caller starts and stops."""
    return WebhookServer(folder / "admission", _MODULE)


def install(webhook: WebhookServer, client: Caller) -> None:
    """Let updates pass the webhook; creates and deletions go on while it is away."""
    rule: dict[str, Any] = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [PLURAL]}
    hook = {
        "name": f"guard.{GROUP}",
        "rules": [rule],
        "clientConfig": webhook.client_config("/well"),
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": _TIMEOUT,
    }
    kind = "ValidatingWebhookConfiguration"
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "soak"}, "webhooks": [hook]}
    client.must("POST", _CONFIGURATIONS, body)
