"""The API server of a pod's cluster, and the pod's service account (client-go rest, InClusterConfig)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.base.tls_trust import trusting_context
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint, KubeconfigError, proxy_for

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process runs in a pod."""
    return bool(environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT"))


def load(environ: Mapping[str, str] = os.environ, folder: Path = FOLDER) -> Endpoint:
    """Return the address of the cluster's API server, with the token file, which the kubelet rotates.

    Raises:
        KubeconfigError: this is not a pod, or its service account is not mounted.
    """
    if not in_cluster(environ):
        raise KubeconfigError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a pod")
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    token, authority = folder / "token", folder / "ca.crt"
    try:
        token.open("rb").close()
        context = trusting_context(cafile=authority)
        url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        return Endpoint(url=url, context=context, proxy=proxy_for(url, environ=environ), token_file=token)
    except OSError as error:
        raise KubeconfigError(f"{error.filename or authority}: {error.strerror or error}") from error
    except ValueError as error:
        raise KubeconfigError(str(error)) from error
