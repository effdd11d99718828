"""Writes of the controllers to definitions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from apiext.resources.definitions.definition import without_schemas
from apiext.storage.interface import Preconditions, WriteOptions

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.definitions.definition_informer import DefinitionInformer

RecordFields = Callable[["Object", "Object"], Awaitable[None]]
"""Records in the managedFields of a new object its differences from the existing one."""


class StatusWriter:
    """Changes stored definitions. The catalog sees each write at once."""

    def __init__(self, informer: DefinitionInformer, record: RecordFields) -> None:
        self._informer = informer
        self._record = record

    async def update(self, definition: Definition, change: Callable[[Object], Object]) -> None:
        """Change the metadata or status of a definition. `change` returns a new object, or the given one if nothing changes.

        Raises:
            KeyNotFoundError: the definition was removed.
            InvalidObjectError: it was removed and recreated.
        """

        async def update(existing: Object, _revision: int) -> Object:
            changed = change(existing)
            if changed is not existing:
                # all versions are one field: schemas of a megabyte, which do not change, need not be compared
                bare = without_schemas(changed)
                await self._record(without_schemas(existing), bare)
                changed["metadata"] = bare["metadata"]
            return changed

        informer, options = self._informer, WriteOptions(preconditions=Preconditions(uid=definition.uid))
        item, _ = await informer.store.guaranteed_update(definition.name, informer.codec, update, options)
        informer.observe(item)
