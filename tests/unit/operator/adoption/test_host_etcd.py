"""The host's etcd."""

import pytest

from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.adoption.object_pages import Resource
from apiext.operator.adoption.store_diff import Difference, held
from apiext.operator.api_clients import ApiError, HostEtcd
from tests.support.servers.memory_backend import MemoryBackend

OF = Resource("widgets.example.com", "example.com", "v1", "widgets", "v1")
PREFIX = "/registry/example.com/widgets/"


async def test_values_are_those_of_the_host() -> None:
    """Values are JSON with sorted fields and an end of line, as kube-apiserver writes them; keys are its own."""
    backend = MemoryBackend()
    store = HostStore(backend, "/registry")
    wanted = held({"metadata": {"namespace": "n", "name": "a"}, "kind": "Widget", "apiVersion": "example.com/v1"})
    await store.write(OF, [Difference(wanted, None)])

    pair, _ = await backend.get(f"{PREFIX}n/a")
    assert pair is not None
    assert pair.value == b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"n"}}\n'
    [found] = [one async for one in store.objects(OF)]
    assert (found.key, found.digest, found.revision) == ("n/a", wanted.digest, pair.revision)


async def test_many_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects come page by page in the order of their keys, and it is told how many."""
    monkeypatch.setattr("apiext.operator.adoption.host_etcd._PAGE", 2)
    backend, told = MemoryBackend(), []
    for name in "abcde":
        await backend.create(f"{PREFIX}{name}", b'{"metadata":{"name":"%s"}}' % name.encode())

    found = [one.key async for one in HostStore(backend, "registry/").objects(OF, lambda *now: told.append(now))]

    assert found == list("abcde")
    assert told == [(2, 5), (4, 5), (5, 5)]


async def test_another_encoding() -> None:
    """What is not JSON differs from anything, and can be replaced."""
    backend = MemoryBackend()
    await backend.create(f"{PREFIX}a", b"\xd9\xd9\xf7\xa1")
    store = HostStore(backend, "/registry")
    [found] = [one async for one in store.objects(OF)]
    wanted = held({"metadata": {"name": "a"}})

    assert found.digest != wanted.digest
    await store.write(OF, [Difference(wanted, found)])
    assert [one.digest async for one in store.objects(OF)] == [held({"metadata": {"name": "a"}}, "example.com/v1").digest]


async def test_changed_by_somebody_else() -> None:
    """What has changed since it was compared is not overwritten."""
    backend = MemoryBackend()
    await backend.create(f"{PREFIX}a", b'{"metadata":{"name":"a"}}')
    store = HostStore(backend, "/registry")
    [found] = [one async for one in store.objects(OF)]
    await backend.update(f"{PREFIX}a", b'{"metadata":{"name":"a"},"spec":1}', expected=found.revision)

    for difference in (Difference(None, found), Difference(held({"metadata": {"name": "a"}}), found), Difference(found, None)):
        with pytest.raises(ApiError, match="has been changed by somebody else"):
            await store.write(OF, [difference])


async def test_no_definition() -> None:
    """An etcd, or a prefix, without the host's definition is not the host's."""
    crd = {"metadata": {"name": "widgets.example.com", "uid": "u"}}

    with pytest.raises(ApiError, match="see --host-etcd-servers and --host-etcd-prefix"):
        await HostStore(MemoryBackend(), "/registry").check(crd)


async def test_unusable() -> None:
    """An etcd that cannot be used, or breaks down, is an obstacle that is told."""
    with pytest.raises(ApiError, match="the host's etcd: "):
        await HostStore.open(HostEtcd(servers=("ftp://etcd",)))

    backend = MemoryBackend()
    backend.broken = True
    with pytest.raises(ApiError, match="the host's etcd: "):
        async with HostStore(backend, "/registry") as store:
            await store.check({"metadata": {"name": "a"}})
