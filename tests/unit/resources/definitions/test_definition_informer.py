"""The informer of definitions."""

from typing import Any, cast

from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.definition_informer import DefinitionInformer
from apiext.storage.errors import KeyNotFoundError
from apiext.storage.store_times import STORE_TIMES, StoreTimes


class _Store:
    """A store without definitions. It keeps the times for which it was read."""

    def __init__(self) -> None:
        self.times: list[StoreTimes | None] = []

    async def get(self, name: str, _codec: object) -> None:
        self.times.append(STORE_TIMES.get())
        raise KeyNotFoundError(name, "no such definition")


async def test_refresh_for_a_request() -> None:
    """Leave the read of a definition out of the times of the request that needs it."""
    store, times = _Store(), StoreTimes()
    STORE_TIMES.set(times)
    await DefinitionInformer(cast("Any", store), Catalog()).refresh("widgets.example.com")

    assert (store.times, STORE_TIMES.get()) == ([None], times)
