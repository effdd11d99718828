"""How to reach etcd, as kube-apiserver's --etcd-* flags say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apiext.storage.backend import BackendError


class EtcdConfigError(BackendError):
    """The configuration cannot be used: a malformed address or an unreadable file. One line, for whoever started the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdConfig:
    """Servers and credentials. Times are in seconds."""

    servers: Sequence[str]
    """`http://host:port` or `https://host:port`; without a scheme, http."""
    prefix: str = "/registry"
    """Where to look when only the revision or the health is asked, for a user may have no access elsewhere.

    The keys that the backend is given are complete.
    """
    cafile: str = ""
    """Certificates that sign the servers' (PEM); "": those of the system."""
    certfile: str = ""
    keyfile: str = ""
    """The client's certificate and key (PEM)."""
    deadline: float = 90.0
    """For each call with all its tries; of a list, for each page. It is more than a request has, for its end is what clients are told."""
    patience: float = 5.0
    """For one server to answer a read or to begin a watch, where there are others to ask."""
    connect_timeout: float = 5.0
    """For the first answer of any server."""
