"""Addresses and credentials of etcd, from kube-apiserver's --etcd-* flags."""

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
    """Prefix for reads of revision and health, and of definitions: an etcd user may have no permission elsewhere. Keys include it."""
    cafile: Path | None = None
    """The servers' certificate authorities (PEM); None for the system's."""
    certfile: Path | None = None
    keyfile: Path | None = None
    """The client's certificate and key (PEM)."""
    deadline: float = 90.0
    """Seconds of a call with all retries; for a list, of each page. Above a request's timeout, so that clients see the latter."""
    attempt_timeout: float = 5.0
    """Seconds of one attempt of a read or a watch if there are other servers to try."""
    range_stream: bool = True
    """Whether large ranges are streamed by servers that can."""
    connect_timeout: float = 5.0
    """Seconds until the first answer of any server at start."""
