"""Kubeconfig files."""

import json
from pathlib import Path
from typing import Any


def kubeconfig_of(cluster: dict[str, Any], user: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a kubeconfig whose current context has this cluster and, unless it is None, this user."""
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", **({"user": "u"} if user is not None else {})}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user or {}}],
    }


def write_kubeconfig(path: Path, server: str, **cluster: object) -> Path:
    """Write a kubeconfig of a server, without a user, and return its path."""
    path.write_text(json.dumps(kubeconfig_of({"server": server, **cluster})))
    return path
