"""Small keys beside those of definitions, on which guarded writes depend in their place.

etcd reads the whole value of a key whose revision a transaction compares, and each write of an instance depends on its definition, of
which large ones have hundreds of kilobytes. So each write of a definition also writes a companion, an empty key, in its transaction: both
have the same revision. A condition on a large definition is one on its companion, which holds if the last definition that was written with
a companion had the required revision. Where it fails, the definition itself decides.

Programs that write definitions without companions (former versions of apiext, kube-apiserver, etcdctl) do not make the condition fail:
until the watch shows their change, writes pass as they do in the reference.
"""

from __future__ import annotations

from typing import Final

from apiext.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.meta.host_annotations import DOMAIN
from apiext.storage import keys
from apiext.storage.backend import Guard
from apiext.storage.backends import transaction
from apiext.storage.etcd import messages

FOLDER: Final = f"{DOMAIN}/companions/"
"""Where companions are, below the prefix of all keys."""
_MAX_CONDITIONS: Final = 1024


class Companions:
    """Names companions, and chooses what guarded writes compare."""

    def __init__(self, prefix: str) -> None:
        """Name companions for the definitions below `--etcd-prefix`."""
        self._definitions = keys.resource_prefix(prefix, CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource)
        self._companions = keys.root(prefix) + FOLDER
        self._conditions: dict[Guard, tuple[bytes, bool]] = {}
        """Encoded conditions, and whether they are on companions. All writes of a resource share one until its definition changes."""

    def of(self, key: str) -> bytes | None:
        """Return the companion of a key, None for any but a definition's."""
        if not key.startswith(self._definitions):
            return None
        return messages.encode(self._companions + key[len(self._definitions) :])

    def condition(self, guard: Guard | None) -> tuple[bytes, bool]:
        """Return the encoded condition of a guarded write, empty without one, and whether the guard's own key must decide if it fails."""
        if guard is None:
            return b"", False
        found = self._conditions.get(guard)
        if found is None:
            # the absence of a companion does not tell that of its definition
            companion = self.of(guard.key) if guard.is_large and guard.expected > 0 else None
            found = self._keep(guard, companion)
        return found

    def reject(self, guard: Guard) -> bytes:
        """Return the encoded condition on the guard's own key, since its companion was not written with it."""
        return self._keep(guard, None)[0]

    def _keep(self, guard: Guard, companion: bytes | None) -> tuple[bytes, bool]:
        if len(self._conditions) >= _MAX_CONDITIONS:
            self._conditions.clear()
        key = messages.encode(guard.key) if companion is None else companion
        found = transaction.compare(key, guard.expected), companion is not None
        self._conditions[guard] = found
        return found
