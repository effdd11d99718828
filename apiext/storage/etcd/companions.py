"""Small keys beside those of definitions, on which guarded writes depend in their place.

etcd reads the whole value of a key whose revision a transaction compares, and each write of an instance depends on its definition, of
which large ones have hundreds of kilobytes. So each write of a definition also writes a companion, an empty key, in its transaction: both
have the same revision. A condition on a large definition is one on its companion, which holds if the last definition that was written with
a companion had the required revision. Where it fails, the definition itself decides.

Programs that write definitions without companions (kube-apiserver, etcdctl) do not make the condition fail: until the watch shows their
change, writes pass as they do in the reference.

Servers of earlier releases keep companions in another folder. What this server writes deletes those: their conditions fail, and the
definition decides. Where one is, a server of an earlier release has written the definition, and it decides here, too. Such a server's
deletion of a definition leaves no trace, so callers do not ask for companions while one runs (`Guard.is_large`).
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.storage import keys
from apiext.storage.backend import Guard
from apiext.storage.backends import transaction
from apiext.storage.etcd import messages
from apiext.storage.replicas import server_keys

_MAX_CONDITIONS: Final = 1024


class Companions:
    """Names companions, and chooses what guarded writes compare."""

    def __init__(self, prefix: str) -> None:
        """Name companions for the definitions below `--etcd-prefix`."""
        self._definitions = keys.resource_prefix(prefix, CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource)
        self._companions = server_keys.root(prefix) + server_keys.COMPANIONS
        self._former = server_keys.former_root(prefix) + server_keys.COMPANIONS
        self._conditions: dict[Guard, tuple[bytes, bool]] = {}
        """Encoded conditions, and whether they are on companions. All writes of a resource share one until its definition changes."""

    def of(self, key: str) -> tuple[bytes, bytes] | None:
        """Return the companion of a key, and that of earlier releases; None for any key but a definition's."""
        if not key.startswith(self._definitions):
            return None
        name = key[len(self._definitions) :]
        return messages.encode(self._companions + name), messages.encode(self._former + name)

    def condition(self, guard: Guard | None) -> tuple[bytes, bool]:
        """Return the encoded condition of a guarded write, empty without one, and whether the guard's own key must decide if it fails."""
        if guard is None:
            return b"", False
        found = self._conditions.get(guard)
        if found is None:
            # the absence of a companion does not tell that of its definition
            companions = self.of(guard.key) if guard.is_large and guard.expected > 0 else None
            if companions is None:
                return self._keep(guard, transaction.compare(messages.encode(guard.key), guard.expected), by_companion=False)
            own, former = companions
            return self._keep(guard, transaction.compare(own, guard.expected) + transaction.compare(former, 0), by_companion=True)
        return found

    def reject(self, guard: Guard) -> bytes:
        """Return the encoded condition on the guard's own key, since its companion was not written with it."""
        return self._keep(guard, transaction.compare(messages.encode(guard.key), guard.expected), by_companion=False)[0]

    def _keep(self, guard: Guard, condition: bytes, *, by_companion: bool) -> tuple[bytes, bool]:
        if len(self._conditions) >= _MAX_CONDITIONS:
            self._conditions.clear()
        self._conditions[guard] = found = condition, by_companion
        return found
