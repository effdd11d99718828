"""Remembers writes that changed nothing: controllers repeat most of theirs."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.storage.backend import BackendError

if TYPE_CHECKING:
    from apiext.api.endpoints.parameters.options import WriteQuery
    from apiext.api.endpoints.scopes.write_call import WriteCall
    from apiext.resources.registry.rest import ResourceRest
    from apiext.storage.interface import Item

MOST: Final = 4096
"""Writes that are remembered for a version of a definition; some 400 bytes each."""
_MOST_BYTES: Final = 64 * 1024
"""Bytes of a body that is remembered: more are rarely sent again, and take longer to compare."""
_DIGEST_BYTES: Final = 16


class _Fingerprint(NamedTuple):
    """What decides the outcome of an update or a patch, beside the stored object and the definition."""

    key: str
    subresource: str
    media_type: str
    manager: str
    query: WriteQuery
    digest: bytes


class UnchangingWrites:
    """The updates and patches of a definition's objects that changed nothing, each with the revision of its object.

    Repeated while the object has this revision, they change nothing again. That does not hold for writes that admission sees, whose
    outcome may depend on anything, so the caller asks for others only. A change of the definition begins anew.
    """

    def __init__(self, rest: ResourceRest) -> None:
        self._rest = rest
        self._revisions: OrderedDict[_Fingerprint, int] = OrderedDict()

    def cached(self, call: WriteCall) -> Item | None:
        """Return the object of a write as the server knows it, perhaps outdated."""
        return self._rest.store.cached_item(self._rest.key(call.namespace, call.name), self._rest.codec)

    async def outcome(self, call: WriteCall) -> Item | None:
        """Return the object of a write that is known to change nothing, None of any other."""
        found = self._fingerprint(call) if self._revisions else None
        revision = self._revisions.get(found) if found is not None else None
        if found is None or revision is None:
            return None
        item = self.cached(call)
        if item is None or item.revision != revision:
            del self._revisions[found]
            return None
        self._revisions.move_to_end(found)
        with suppress(BackendError):
            if await self._rest.store.is_latest(found.key, revision):
                return item
        return None

    def note(self, call: WriteCall, revision: int) -> None:
        """Remember a write without warnings whose object had a revision, and has it still."""
        found = self._fingerprint(call)
        if found is None:
            return
        self._revisions[found] = revision
        if len(self._revisions) > MOST:
            self._revisions.popitem(last=False)

    def _fingerprint(self, call: WriteCall) -> _Fingerprint | None:
        if call.query.dry_run or len(call.data) > _MOST_BYTES:
            return None
        key, digest = self._rest.key(call.namespace, call.name), blake2b(call.data, digest_size=_DIGEST_BYTES).digest()
        return _Fingerprint(key, call.subresource, call.media_type, call.manager, call.query, digest)
