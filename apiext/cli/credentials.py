"""Credentials with which commands call another server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint


def credentials(given: str | None) -> Callable[[], Endpoint]:
    """Return a function that loads the server and the credentials of `--kubeconfig`, the pod's service account, or kubectl's.

    Raises:
        UsageError: there are none.
    """
    from apiext.base.webhook.clientcmd import kubeconfig, service_account

    path = given or os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
    in_pod = not given and service_account.in_cluster()

    def load() -> Endpoint:
        return service_account.load() if in_pod else kubeconfig.load(Path(path).expanduser())

    try:
        load()
    except kubeconfig.KubeconfigError as error:
        raise click.UsageError(f"--kubeconfig: {error}") from error
    return load


def text_of(flag: str, path: str | None) -> str:
    """Return the text of the file that a flag names, "" without one.

    Raises:
        UsageError: it cannot be read.
    """
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{flag}: {path}: {getattr(error, 'strerror', None) or error}") from error
