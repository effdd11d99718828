"""Reads and writes of the host's etcd."""

from pathlib import Path

import pytest

from apiext.base.meta.encoding import cbor_codec
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.object_pages import AdoptedResource
from apiext.operator.adoption.store_diff import Difference, stored_object
from apiext.operator.api_clients import ApiError
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from tests.support.builders.encryption import IDENTITY, keyed, write_configuration
from tests.support.servers.memory_backend import MemoryBackend

OF = AdoptedResource("widgets.example.com", "example.com", "v1", "widgets")
PREFIX = "/registry/example.com/widgets/"


async def test_writes_values_as_the_host_does(backend: MemoryBackend) -> None:
    """Write JSON with sorted fields and a newline, under kube-apiserver's keys."""
    store = HostStore(backend, "/registry")
    wanted = stored_object({"apiVersion": "example.com/v1", "metadata": {"namespace": "n", "name": "a"}, "kind": "Widget"})
    await store.write(OF, [Difference(wanted, None)])

    pair, _ = await backend.get(f"{PREFIX}n/a")
    assert pair is not None
    assert pair.value == b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"n"}}\n'
    [found] = [one async for one in store.objects(OF)]
    assert (found.key, found.digest, found.revision) == ("n/a", wanted.digest, pair.revision)


async def test_reads_objects_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read objects page by page in the order of their keys."""
    monkeypatch.setattr("apiext.operator.adoption.host_etcd.PAGE_SIZE", 2)
    backend = MemoryBackend()
    for name in "abcde":
        await backend.create(f"{PREFIX}{name}", b'{"metadata":{"name":"%s"}}' % name.encode())

    found = [one.key async for one in HostStore(backend, "registry/").objects(OF)]

    assert found == list("abcde")


async def test_reads_cbor(backend: MemoryBackend) -> None:
    """Report an object in CBOR as equal to the same object, so that it is not written again."""
    wanted = stored_object({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}})
    await backend.create(f"{PREFIX}a", cbor_codec.dumps(wanted.content))

    assert [one.digest async for one in HostStore(backend, "/registry").objects(OF)] == [wanted.digest]


async def test_replaces_unreadable_values(backend: MemoryBackend) -> None:
    """Report a value that cannot be read as different, and replace it."""
    await backend.create(f"{PREFIX}a", b"\xd9\xd9\xf7\xa1")
    store = HostStore(backend, "/registry")
    [found] = [one async for one in store.objects(OF)]
    wanted = stored_object({"metadata": {"name": "a"}})

    assert found.digest != wanted.digest
    await store.write(OF, [Difference(wanted, found)])
    assert [one.digest async for one in store.objects(OF)] == [wanted.digest]


async def test_keeps_concurrent_changes(backend: MemoryBackend) -> None:
    """Overwrite nothing that changed after the comparison."""
    await backend.create(f"{PREFIX}a", b'{"metadata":{"name":"a"}}')
    store = HostStore(backend, "/registry")
    [found] = [one async for one in store.objects(OF)]
    await backend.update(f"{PREFIX}a", b'{"metadata":{"name":"a"},"spec":1}', expected=found.revision)

    wanted = stored_object({"metadata": {"name": "a"}})
    for difference in (Difference(None, found), Difference(wanted, found), Difference(found, None)):
        with pytest.raises(ApiError, match="was changed by another client"):
            await store.write(OF, [difference])


async def test_rejects_an_etcd_without_the_definition() -> None:
    """Reject an etcd or a prefix without the host's definition."""
    crd = {"metadata": {"name": "widgets.example.com", "uid": "u"}}

    with pytest.raises(ApiError, match="see --host-etcd-servers and --host-etcd-prefix"):
        await HostStore(MemoryBackend(), "/registry").check(crd)


async def test_reports_a_failing_etcd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report an etcd that is unreachable or fails."""
    with pytest.raises(ApiError, match="the host's etcd: "):
        async with HostStore.open(EtcdConfig(servers=("ftp://etcd",))):
            pass

    backend = MemoryBackend()
    backend.broken = True

    async def connect(_config: EtcdConfig) -> MemoryBackend:
        return backend

    monkeypatch.setattr(EtcdBackend, "connect", connect)
    with pytest.raises(ApiError, match="the host's etcd: "):
        async with HostStore.open(EtcdConfig(servers=("http://etcd",))) as store:
            await store.check({"metadata": {"name": "a"}})


@pytest.fixture
def encrypted(backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> MemoryBackend:
    """Return the stored values of the etcd of a host that encrypts."""

    async def connect(_config: EtcdConfig) -> MemoryBackend:
        backend.is_closed = False
        return backend

    monkeypatch.setattr(EtcdBackend, "connect", connect)
    return backend


async def test_writes_and_reads_with_the_hosts_keys(encrypted: MemoryBackend, tmp_path: Path) -> None:
    """With the host's file, values are encrypted as the host does; without it, or with other keys, they are refused."""
    file = write_configuration(tmp_path / "host.json", (["*.example.com"], [keyed("aescbc", "key1"), IDENTITY]))
    other = write_configuration(tmp_path / "other.json", (["*.example.com"], [keyed("aescbc", "key2"), IDENTITY]))
    wanted = stored_object({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}})
    crd = {"metadata": {"name": "widgets.example.com", "uid": "u"}}
    etcd = EtcdConfig(servers=("http://etcd",))

    async with HostStore.open(etcd, file) as store:
        await store.write(OF, [Difference(wanted, None)])
        await store.check_decrypted(crd, OF)
        assert [one.digest async for one in store.objects(OF)] == [wanted.digest]
    assert encrypted.state[f"{PREFIX}a"].value.startswith(b"k8s:enc:aescbc:v1:key1:")
    for wrong, message in ((None, "start the operator with --host-encryption-provider-config"), (other, "no matching key was found")):
        async with HostStore.open(etcd, wrong) as store:
            with pytest.raises(ApiError, match=message):
                await store.check_decrypted(crd, OF)
            with pytest.raises(ApiError, match=message):
                [one async for one in store.objects(OF)]


async def test_refuses_an_invalid_file(encrypted: MemoryBackend, tmp_path: Path) -> None:
    """A file that is not valid is named, with its flag."""
    path = tmp_path / "host.json"
    path.write_text("{}")

    with pytest.raises(ApiError, match=r"--host-encryption-provider-config: .*host\.json: .*'apiVersion' is a required property"):
        async with HostStore.open(EtcdConfig(servers=("http://etcd",)), path):
            pass
    assert not encrypted.state
