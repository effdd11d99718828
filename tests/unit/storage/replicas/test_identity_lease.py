"""Leases of servers."""

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.storage.replicas.identity_lease import IdentityLease, server_id
from tests.support.servers.memory_backend import MemoryBackend

FOLDER = "/registry/leases/kube-system/"


class Clock:
    """A clock that a test moves."""

    now = 1_700_000_000.25

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def test_names_servers_as_the_reference() -> None:
    """Hash the host and the address; the name is a valid label value, and the same after a restart."""
    name = server_id("https://127.0.0.1:6443")
    assert len(name) == len("apiserver-wlv32tlttr4jl3gtroqexyxapa")
    assert name.startswith("apiserver-")
    assert name == server_id("https://127.0.0.1:6443") != server_id("https://127.0.0.1:6444")


async def test_stores_a_lease() -> None:
    """Store a Lease as kube-apiserver has it; renew it, and delete it at the end."""
    backend, clock = MemoryBackend(), Clock()
    lease = IdentityLease(backend, "/registry", "apiserver-a", clock=clock)
    await lease.renew()
    clock.now += 10
    await lease.renew()

    pair, _ = await backend.get(f"{FOLDER}apiserver-a")
    assert pair is not None
    stored = json_codec.loads(pair.value)
    assert (stored["kind"], stored["apiVersion"]) == ("Lease", "coordination.k8s.io/v1")
    assert stored["metadata"]["labels"]["apiserver.kubernetes.io/identity"] == "kube-apiserver"
    assert stored["spec"]["leaseDurationSeconds"] == 3600
    assert stored["spec"]["renewTime"] == "2023-11-14T22:13:30.250000Z"
    assert stored["spec"]["holderIdentity"].startswith("apiserver-a_")

    await lease.release()
    await lease.release()
    assert (await backend.get(f"{FOLDER}apiserver-a"))[0] is None


async def test_deletes_expired_leases() -> None:
    """Delete Leases of servers that were not renewed for an hour, and nothing else."""
    backend, clock = MemoryBackend(), Clock()
    for name in ("apiserver-a", "apiserver-b"):
        await IdentityLease(backend, "/registry", name, clock=clock).renew()
    await backend.create(f"{FOLDER}other", b'{"metadata":{"labels":{"a":"b"}}}')
    await backend.create(f"{FOLDER}proto", b"k8s\0...")
    clock.now += 3599
    own = IdentityLease(backend, "/registry", "apiserver-b", clock=clock)
    await own.renew()
    assert await own.live() == {"apiserver-a", "apiserver-b", "other", "proto"}
    clock.now += 2
    assert await own.live() == {"apiserver-b", "other", "proto"}
    assert (await backend.get(f"{FOLDER}apiserver-a"))[0] is None


@pytest.mark.parametrize("value", [b"[]", b"{", b'{"metadata":{"labels":{"apiserver.kubernetes.io/identity":"kube-apiserver"}},"spec":{}}'])
async def test_keeps_what_it_cannot_read(backend: MemoryBackend, value: bytes) -> None:
    """Take a Lease that cannot be read for a valid one."""
    await backend.create(f"{FOLDER}odd", value)
    assert await IdentityLease(backend, "/registry", "a").live() == {"odd"}
