"""Where a store is: an etcd or, without it, the file of an embedded store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.storage.etcd.config import EtcdConfig


class StorePlace(Protocol):
    """The part of the options of a server that says where its store is."""

    @property
    def data_dir(self) -> Path:
        """Return the folder of an embedded store."""
        ...

    @property
    def etcd(self) -> EtcdConfig | None:
        """Return the etcd, None for an embedded store."""
        ...

    @property
    def prefix(self) -> str:
        """Return the prefix of all keys."""
        ...


def describe_storage(place: StorePlace) -> str:
    """Return a description of the store."""
    if place.etcd:
        return f"etcd at {', '.join(place.etcd.servers)}, prefix {place.prefix}"
    return f"SQLite in {store_file(place)}"


def store_file(place: StorePlace) -> Path:
    """Return the path of the embedded store's file."""
    return place.data_dir / "apiext.db"
