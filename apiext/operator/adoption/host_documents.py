"""Documents that the operator writes on the host to make its own copies of a group read-only, and the probes of their effect."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from apiext.operator.api_clients import ApiClient, Json

PROBE_PATH: Final = "/api/v1/namespaces/default/configmaps?dryRun=All"
"""Where probes are created, without effect."""


def fingerprint(group: str, plurals: Iterable[str]) -> str:
    """Return the end of the name of probes for these resources of a group."""
    return hashlib.blake2b(",".join([group, *sorted(plurals)]).encode(), digest_size=8).hexdigest()


async def put_document(
    host: ApiClient, collection: str, wanted: Json, content: str, before: Callable[[], Awaitable[None]] | None = None
) -> None:
    """Create a document, or replace its content, the field of that name, unless the host's has all of it. `before` precedes a creation.

    Raises:
        ApiError: a call failed.
    """
    path = f"{collection}/{wanted['metadata']['name']}"
    found = await host.find(path)
    if found is None:
        if before is not None:
            await before()
        await host.post(collection, wanted)
    elif not _has(found.get(content), wanted[content]):
        await host.put(path, {**found, content: wanted[content]})


def _has(found: Any, wanted: Any) -> bool:
    """Return whether an object has all the wanted fields, perhaps among defaults of the host."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and _has(found[key], value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(map(_has, found, wanted))
    return bool(found == wanted)
