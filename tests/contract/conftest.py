"""Fixtures of the backends under test."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.storage.backend import Backend
from apiext.storage.backends.measured_backend import MeasuredBackend
from apiext.storage.backends.revision_offset import OffsetBackend
from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.storage.value.transforming_backend import TransformingBackend
from hack.lib.servers.etcd import Etcd
from tests.contract.encryption import encryption
from tests.contract.stores import codec, factory, make_factory, store

__all__ = ["codec", "factory", "make_factory", "store"]


@pytest.fixture(params=["sqlite", "etcd", "based", "encrypted"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """Yield a backend of each kind. The one over etcd may contain keys of other tests below other prefixes."""
    backend: Backend
    if request.param == "sqlite":
        backend = await SQLiteBackend.open(tmp_path / "store.db")
    elif request.param == "encrypted":
        backend = TransformingBackend(await SQLiteBackend.open(tmp_path / "store.db"), "/registry", encryption())
    elif request.param == "based":
        backend = MeasuredBackend(OffsetBackend(await SQLiteBackend.open(tmp_path / "store.db"), REVISION_BASE), "/registry")
    else:
        etcd: Etcd = request.getfixturevalue("etcd")
        backend = await EtcdBackend.connect(EtcdConfig(servers=(etcd.url,)))
    yield backend
    await backend.close()


@pytest.fixture
def prefix() -> str:
    """Return a prefix that no other test uses."""
    return f"/registry/{uuid.uuid4().hex}/"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a store file in a folder that does not exist yet."""
    return tmp_path / "data" / "store.db"
