"""Encryption under a Store, with and without a cache."""

import copy
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import StatusError
from apiext.storage import factory as storage_factory
from apiext.storage.backend import Backend, UnreadableValue, UntransformableError
from apiext.storage.errors import EncryptedObjectError, KeyNotFoundError
from apiext.storage.factory import StoreFactory
from apiext.storage.interface import EventType, ListOptions, Store
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.value.configuration import IdentityProvider
from apiext.storage.value.encryption import Encryption, IdentityTransformer
from apiext.storage.value.transformer import TransformError
from apiext.storage.value.transforming_backend import TransformingBackend
from tests.contract.encryption import KEY, OTHER_KEY, configuration
from tests.contract.stores import MakeFactory
from tests.support.builders.widgets import WIDGETS, WidgetCodec, change, watching, widget
from tests.support.event_loop import until_answered

NO_KEY = "data from the storage is not transformable revision=0: no matching key was found for the provided AES transformer"


@pytest.fixture
async def plain(tmp_path: Path) -> AsyncIterator[Backend]:
    """Yield the backend with the stored values."""
    backend = await SQLiteBackend.open(tmp_path / "store.db")
    yield backend
    await backend.close()


@pytest.fixture
def encryption() -> Encryption:
    """Return an encryption of all resources."""
    return Encryption(configuration(KEY))


@pytest.fixture
def backend(plain: Backend, encryption: Encryption) -> Backend:
    """Return a backend that encrypts."""
    return TransformingBackend(plain, "/registry", encryption)


@pytest.fixture
async def factory(make_factory: MakeFactory, encryption: Encryption) -> StoreFactory:
    """Return stores that read again what could not be decrypted."""
    return await make_factory(encryption=encryption)


async def keep(obj: Object, _revision: int) -> Object:
    """Return the object unchanged."""
    return obj


async def is_listed(store: Store, codec: WidgetCodec) -> bool:
    """Report whether a list succeeds."""
    try:
        await store.list("", codec, ListOptions())
    except StatusError:
        return False
    return True


async def stored(plain: Backend, store: Store, key: str) -> bytes:
    """Return the stored value of an object."""
    pair, _ = await plain.get(store.prefix + key)
    assert pair is not None
    return pair.value


async def test_stores_encrypted_values(plain: Backend, store: Store, codec: WidgetCodec) -> None:
    """Objects are encrypted in the backend, and shown as they were written."""
    created = await store.create("default/one", widget("default/one"), codec)

    assert (await stored(plain, store, "default/one")).startswith(b"k8s:enc:aesgcm:v1:key1:")
    assert (await store.get("default/one", codec)).data == created.data
    assert [item.data for item in (await store.list("", codec, ListOptions())).items] == [created.data]


async def test_update_without_a_change_rewrites_stale_values(
    plain: Backend, store: Store, codec: WidgetCodec, encryption: Encryption
) -> None:
    """An update without a change writes only what is encrypted with an old key; the object gets a new revision."""
    created = await store.create("default/one", widget("default/one"), codec)
    same, _ = await store.guaranteed_update("default/one", codec, keep)
    encryption.replace(configuration(OTHER_KEY, KEY))
    rewritten, _ = await store.guaranteed_update("default/one", codec, keep)
    again, _ = await store.guaranteed_update("default/one", codec, keep)

    assert created.revision == same.revision < rewritten.revision == again.revision
    assert (await stored(plain, store, "default/one")).startswith(b"k8s:enc:aesgcm:v1:key2:")


async def test_reencoder_rewrites_stale_values(
    plain: Backend, factory: StoreFactory, store: Store, codec: WidgetCodec, encryption: Encryption
) -> None:
    """A migration rewrites what is encrypted with an old key, and nothing else."""
    for name in ("one", "two"):
        await store.create(f"default/{name}", widget(f"default/{name}"), codec)
    encryption.replace(configuration(OTHER_KEY, KEY))
    await store.create("default/three", widget("default/three"), codec)

    written = [item.key async for part in factory.reencoder(WIDGETS, Unguarded()).batches(codec) for item in part.written]

    assert written == ["default/one", "default/two"]
    for name in ("one", "two", "three"):
        assert (await stored(plain, store, f"default/{name}")).startswith(b"k8s:enc:aesgcm:v1:key2:")


class Unguarded:
    """A guard without conditions."""

    def decide(self, _value: bytes | None, /) -> None:
        """Implement WriteGuard.decide."""

    async def outdated(self, _guard: object) -> None:
        """Implement WriteGuard.outdated."""


async def test_values_with_a_lost_key(
    make_factory: MakeFactory, store: Store, codec: WidgetCodec, encryption: Encryption, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be decrypted fails as in the reference, and can be read once the key is back."""
    monkeypatch.setattr(storage_factory, "TICK_SECONDS", 0.01)
    created = await store.create("default/one", widget("default/one"), codec)
    encryption.replace(configuration(OTHER_KEY, IdentityProvider()))
    other = await make_factory(encryption=encryption)
    reader = other.store(WIDGETS)

    with pytest.raises(StatusError) as listed:
        await reader.list("", codec, ListOptions())
    assert NO_KEY in listed.value.message
    with pytest.raises(EncryptedObjectError) as error:
        await reader.get("default/one", codec)
    assert error.value.message == NO_KEY
    with pytest.raises(EncryptedObjectError):
        await reader.guaranteed_update("default/one", codec, keep)
    assert (await other.stored_versions(WIDGETS).counts()).by_version == {"": 1}
    encryption.replace(configuration(OTHER_KEY, KEY))
    assert (await reader.get("default/one", codec)).data == created.data
    await until_answered(partial(is_listed, reader, codec))
    assert [item.data for item in (await reader.list("", codec, ListOptions())).items] == [created.data]
    assert (await other.stored_versions(WIDGETS).counts()).by_version == {"v1": 1}


def test_unreadable_values_reach_worker_processes() -> None:
    """The reason travels with the value."""
    found = copy.copy(UnreadableValue(b"k8s:enc:x", "no key"))

    assert (found, found.problem) == (b"k8s:enc:x", "no key")


async def test_unreadable_objects_can_be_deleted(store: Store, codec: WidgetCodec, encryption: Encryption) -> None:
    """The deletion of an object whose key is lost needs no key."""
    await store.create("default/one", widget("default/one"), codec)
    encryption.replace(configuration(OTHER_KEY))
    await store.delete_unreadable("default/one", codec)

    with pytest.raises(KeyNotFoundError):
        await store.get("default/one", codec)


async def test_watch_shows_decrypted_objects(store: Store, codec: WidgetCodec) -> None:
    """A watch sends created, changed and deleted objects decrypted."""
    async with watching(store, codec) as reader:
        await store.create("default/one", widget("default/one", color="red"), codec)
        await change(store, codec, "default/one", color="blue")
        await store.delete("default/one", codec)
        events = [await reader.next() for _ in range(3)]

    assert [(event.type, event.item and event.item.fields["spec.color"]) for event in events] == [
        (EventType.ADDED, "red"),
        (EventType.MODIFIED, "blue"),
        (EventType.DELETED, "blue"),
    ]


async def test_large_values(plain: Backend, store: Store, codec: WidgetCodec) -> None:
    """A value that a thread transforms is stored and read like others."""
    created = await store.create("default/one", widget("default/one", text="x" * 300_000), codec)

    assert (await stored(plain, store, "default/one")).startswith(b"k8s:enc:aesgcm:v1:key1:")
    assert (await store.get("default/one", codec)).data == created.data


async def test_write_that_cannot_be_encrypted(
    plain: Backend, store: Store, codec: WidgetCodec, encryption: Encryption, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A create that cannot be encrypted fails, and stores nothing."""

    class Expired(IdentityTransformer):
        """Has no key to write."""

        def to_storage(self, data: bytes, context: bytes) -> bytes:
            """Fail."""
            raise TransformError("expired")

    monkeypatch.setattr(encryption, "transformer", lambda _: Expired())
    with pytest.raises(UntransformableError, match="expired"):
        await store.create("default/one", widget("default/one"), codec)

    assert not await plain.count(store.prefix)
