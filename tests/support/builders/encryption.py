"""EncryptionConfigurations of tests."""

import base64
import json
from pathlib import Path
from typing import Any

IDENTITY = {"identity": dict[str, str]()}


def keyed(type_: str, *names: str, size: int = 32) -> dict[str, Any]:
    """Return a provider whose keys have different names, and secrets."""
    keys = [{"name": name, "secret": base64.b64encode(name.encode().ljust(size, b"\0")).decode()} for name in names]
    return {type_: {"keys": keys}}


def kms(endpoint: str, name: str = "vault", *, timeout: str = "3s") -> dict[str, Any]:
    """Return a plugin."""
    return {"kms": {"apiVersion": "v2", "name": name, "endpoint": endpoint, "timeout": timeout}}


def write_configuration(path: Path, *groups: tuple[list[str], list[Any]]) -> Path:
    """Write a file with resources and their providers."""
    resources = [{"resources": names, "providers": providers} for names, providers in groups]
    document = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": resources}
    path.write_text(json.dumps(document))
    return path
