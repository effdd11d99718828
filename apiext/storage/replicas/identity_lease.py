"""The Lease of a server, beside those of kube-apiservers, as a sign of life (coordination.k8s.io/v1, in kube-system).

apiext does not serve Leases. It stores them as kube-apiserver does, for programs that read the store.
Mirrors kubernetes pkg/controlplane/apiserver/server.go, pkg/controlplane/controller/apiserverleasegc and component-helpers
apimachinery/lease.
"""

from __future__ import annotations

import base64
import hashlib
import socket
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from apiext.base.meta import time as meta_time
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupResource
from apiext.base.random_uuid import random_uuid
from apiext.storage import keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.backend import Backend, KeyValue

RENEW_SECONDS: Final = 10.0
"""Seconds between renewals, as in the reference."""
_DURATION_SECONDS: Final = 3600
_LABEL: Final = "apiserver.kubernetes.io/identity"
_COMPONENT: Final = "kube-apiserver"
_LEASES: Final = GroupResource("", "leases")
_NAMESPACE: Final = "kube-system"
_HASH_BYTES: Final = 16


def server_id(address: str) -> str:
    """Return the name of a server in the reference's form. It survives restarts.

    The reference hashes the host's name. Servers on one host differ in their `address`.
    """
    digest = hashlib.sha256(f"{socket.gethostname()} {address}".encode()).digest()[:_HASH_BYTES]
    return "apiserver-" + base64.b32encode(digest).decode().rstrip("=").lower()


class IdentityLease:
    """Keeps the Lease of one server, and finds those of others.

    Raises:
        BackendError: from every method, when the store does not answer.
    """

    def __init__(self, backend: Backend, prefix: str, name: str, *, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self._backend = backend
        self._folder = f"{keys.resource_prefix(prefix, _LEASES)}{_NAMESPACE}/"
        self._clock = clock
        self._holder = f"{name}_{random_uuid()}"
        self._uid = random_uuid()
        self._created = meta_time.now()

    async def renew(self) -> None:
        """Write the Lease with the current time. Replace one from an earlier start."""
        key, value = self._folder + self.name, json_codec.dumps(self._lease(), sort_keys=False) + b"\n"
        pair, _ = await self._backend.get(key)
        if pair is None:
            await self._backend.create(key, value)
        else:
            await self._backend.update(key, value, expected=pair.revision)

    async def release(self) -> None:
        """Delete the Lease."""
        pair, _ = await self._backend.get(self._folder + self.name)
        if pair is not None:
            await self._backend.delete(pair.key, expected=pair.revision)

    async def live(self) -> frozenset[str]:
        """Return the names of the servers with valid Leases; delete expired ones."""
        found = await self._backend.list(self._folder)
        names = set()
        for pair in found.items:
            if self._is_expired(pair):
                await self._backend.delete(pair.key, expected=pair.revision)
            else:
                names.add(pair.key.removeprefix(self._folder))
        return frozenset(names)

    def _is_expired(self, pair: KeyValue) -> bool:
        """Report whether a server's Lease has expired. A Lease in Protobuf is kube-apiserver's, which deletes it itself."""
        try:
            lease = json_codec.loads(pair.value)
            if lease["metadata"]["labels"][_LABEL] != _COMPONENT:
                return False
            spec = lease["spec"]
            renewed = datetime.fromisoformat(spec["renewTime"]).timestamp()
            return bool(renewed + spec["leaseDurationSeconds"] < self._clock())
        except (ValueError, LookupError, TypeError):
            return False

    def _lease(self) -> Object:
        renewed = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "metadata": {
                "name": self.name,
                "namespace": _NAMESPACE,
                "uid": self._uid,
                "creationTimestamp": self._created,
                "labels": {_LABEL: _COMPONENT, "kubernetes.io/hostname": socket.gethostname()},
            },
            "spec": {"holderIdentity": self._holder, "leaseDurationSeconds": _DURATION_SECONDS, "renewTime": renewed},
        }
