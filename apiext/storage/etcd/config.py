"""Addresses and credentials of etcd, as kube-apiserver's --etcd-* flags give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from apiext.storage.backend import BackendError


class EtcdConfigError(BackendError):
    """An invalid configuration: a malformed address or an unreadable file. The message is one line for the administrator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdConfig:
    """Servers and credentials. All times are in seconds."""

    servers: Sequence[str]
    """`http://host:port` or `https://host:port`; http if the scheme is missing."""
    prefix: str = "/registry"
    """The prefix below which revision and health are read: an etcd user may have no permission elsewhere. Keys include it."""
    cafile: Path | None = None
    """Certificate authorities of the servers (PEM); None for those of the system."""
    certfile: Path | None = None
    keyfile: Path | None = None
    """The client's certificate and key (PEM)."""
    deadline: float = 90.0
    """Limit of a call with all retries; for a list, of each page. Longer than a request's timeout, so that clients see the latter."""
    attempt_timeout: float = 5.0
    """Limit of one attempt of a read or a watch when there are other servers to try."""
    connect_timeout: float = 5.0
    """Limit of the first answer of any server at start."""
