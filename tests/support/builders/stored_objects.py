"""Writes objects directly into etcd, in the server's stored form."""

import asyncio
import copy
import itertools
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from apiext.storage.etcd.backend import EtcdBackend
from apiext.storage.etcd.config import EtcdConfig

_AT_ONCE: Final = 64


def multiply(etcd_url: str, key: str, names: Iterable[str]) -> None:
    """Store copies of the object under a key beside it, each with a different name and uid."""
    asyncio.run(_multiply(etcd_url, key, list(names)))


async def _multiply(etcd_url: str, key: str, names: list[str]) -> None:
    backend = await EtcdBackend.connect(EtcdConfig(servers=[etcd_url]))
    try:
        found, _ = await backend.get(key)
        assert found is not None
        folder = key.rpartition("/")[0]
        left = _copies(orjson.loads(found.value), names)
        while part := list(itertools.islice(left, _AT_ONCE)):
            await asyncio.gather(*(backend.create(f"{folder}/{name}", value) for name, value in part))
    finally:
        await backend.close()


def _copies(like: dict[str, Any], names: list[str]) -> Iterator[tuple[str, bytes]]:
    for number, name in enumerate(names):
        one = copy.deepcopy(like)
        one["metadata"] |= {"name": name, "uid": str(uuid.UUID(int=number + 1)), "generation": number + 1}
        yield name, orjson.dumps(one) + b"\n"
