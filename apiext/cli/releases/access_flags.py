"""Flags of the commands that read definitions and objects from clusters and stores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.tools.places import Access

_TEXTS: Final = {
    "kubeconfig": ("FILE", "Kubeconfig of the cluster (default that of kubectl)."),
    "context": ("NAME", "Context of the kubeconfig (default its current one)."),
    "etcd-prefix": ("PREFIX", "Prefix of all keys in an etcd or a snapshot (default /registry)."),
    "etcd-cafile": ("FILE", "CA of etcd's certificates."),
    "etcd-certfile": ("FILE", "Client certificate for etcd."),
    "etcd-keyfile": ("FILE", "Key of --etcd-certfile."),
    "encryption-provider-config": ("FILE", "EncryptionConfiguration of a store."),
    "etcd-tools": ("DIR", "Folder of the programs etcd and etcdutl, which read a snapshot (default those of PATH)."),
}

ACCESS_FLAGS: Final = [click.Option([f"--{name}"], metavar=kind, help=text) for name, (kind, text) in _TEXTS.items()]


def access_of(flags: Mapping[str, Any]) -> Access:
    """Return how the flags reach clusters and stores.

    Raises:
        UsageError: a flag is invalid.
    """
    from apiext.tools.places import Access
    from apiext.tools.releases.cluster_connection import ClusterAccess
    from apiext.tools.releases.store_place import EtcdAccess

    files = {name: _file(flags, f"etcd_{name}") for name in ("cafile", "certfile", "keyfile")}
    if (files["certfile"] is None) != (files["keyfile"] is None):
        raise click.UsageError("--etcd-certfile and --etcd-keyfile need each other")
    # the reference joins the prefix to the root
    prefix = "/" + (flags["etcd_prefix"] or "/registry").strip("/")
    if prefix == "/":
        raise click.UsageError("--etcd-prefix must not be empty")
    tools = Path(flags["etcd_tools"]).expanduser() if flags["etcd_tools"] else None
    return Access(
        ClusterAccess(flags["kubeconfig"] or "", flags["context"] or ""),
        EtcdAccess(prefix=prefix, tools=tools, encryption=_file(flags, "encryption_provider_config"), **files),
    )


def _file(flags: Mapping[str, Any], name: str) -> Path | None:
    """Return the file of a flag, None without one. Raise UsageError if it cannot be read."""
    if not flags[name]:
        return None
    path = Path(flags[name]).expanduser()
    try:
        path.open("rb").close()
    except OSError as error:
        raise click.UsageError(f"--{name.replace('_', '-')}: {path}: {error.strerror}") from error
    return path
