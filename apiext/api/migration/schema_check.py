"""Validates stored objects with the schema of their version, as if a client wrote them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from apiext.api.endpoints.handlers.write import perform
from apiext.api.endpoints.scopes.write_call import SERVER_USER, WriteCall
from apiext.base.meta import field
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError, public_text

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.workers.pool import WorkerPool
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.interface import Item

_MAX_CHARACTERS: Final = 200
"""Maximum of characters of an object's problems."""


async def problems(workers: WorkerPool, scope: Scope, item: Item) -> str:
    """Return the shortened problems of an object in a scope's version, "" for a valid one, without the object's values.

    Costly checks run in a worker process.
    """
    try:
        return await perform(workers, scope, _validate, WriteCall(SERVER_USER, "", "", item.key, None, data=item.data))
    except StatusError as error:
        return f"cannot be checked: {public_text(error)}"[:_MAX_CHARACTERS]


async def _validate(scope: Scope, call: WriteCall) -> str:
    rest = cast("ResourceRest", scope.rest)
    errors = rest.strategy.validate(call.context, json_codec.loads(call.data))
    # others read the condition than those who may read the object
    shown = [replace(error, bad_value=field.OMITTED) for error in field.limited(errors)]
    return field.aggregate(shown)[:_MAX_CHARACTERS] if errors else ""
