"""Changes printer columns, the storage version and the encryption keys during the long run."""

import http.client
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from hack.lib.pausable import Pausable
from hack.lib.servers.caller import Caller
from hack.lib.soak.access import Access
from hack.lib.soak.long.collection import CRDS, DEFINITION, NAME, VERSIONS, definition
from hack.lib.soak.long.key_ring import KeyRing
from hack.lib.waiting import until

_REST: Final = (3.0, 10.0)
"""Minimum and maximum of seconds between two changes."""
_WITHIN: Final = 150.0
"""Seconds that a migration, or the reading of new keys, may take beside faults."""
_LOOK: Final = 0.5


class Administrator(Pausable):
    """Changes the definition and the keys in a thread. `counts` has the changes, `problems` what did not come about.

    `client` writes definitions. With `behind_host` these are the host's, which keep the old version in status.storedVersions until an
    administrator removes it.
    """

    def __init__(self, client: Caller, keys: KeyRing, servers: Sequence[Access], *, behind_host: bool) -> None:
        super().__init__()
        self._client = client
        self._behind_host = behind_host
        self._keys = keys
        self._servers = servers
        self._random = random.Random()  # noqa: S311 -- no secret
        self._columns = 0
        self._storage = VERSIONS[0]
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    def define(self) -> None:
        """Create the definition."""
        self._client.must("POST", CRDS, definition())

    def _run(self) -> None:
        changes = (self._change_columns, self._change_storage, self._rotate_keys)
        while not self._ended.wait(self._random.uniform(*_REST)):
            self._random.choice(changes)()

    def _change_columns(self) -> None:
        self._columns = (self._columns + 1) % 3
        self._change("the columns of the definition change")

    def _change_storage(self) -> None:
        """Change the storage version, and wait until all objects are stored in the new one."""
        self._storage = next(version for version in VERSIONS if version != self._storage)
        self._change("the storage version changes, and objects are migrated")
        self._await(self._migrated, f"objects were not migrated to {self._storage}")

    def _rotate_keys(self) -> None:
        """Let a new key take over, and write all objects with it."""
        for step in (self._keys.announce, self._keys.promote):
            step()
            self._await(lambda: self._keys.in_use(self._servers), "a server does not read the new keys")
        self._change_storage()
        self._keys.forget()
        self.counts["the key of the store changes, and objects are written with the new one"] += not self._ended.is_set()

    def _change(self, name: str) -> None:
        self.counts[name] += self._await(self._put, f"an update of the definition, {name}, did not succeed")

    def _put(self) -> bool:
        """Write the definition once, and report whether that succeeded."""
        code, found = self._client.ask("GET", DEFINITION)
        if code != http.HTTPStatus.OK:
            return False
        found["spec"]["versions"] = definition(storage=self._storage, columns=self._columns)["spec"]["versions"]
        return self._client.ask("PUT", DEFINITION, found)[0] == http.HTTPStatus.OK

    def _await(self, condition: Callable[[], bool], problem: str) -> bool:
        """Wait for a condition until the end of the run; note a problem and return False if it does not hold in time."""
        try:
            until(lambda: self._ended.wait(_LOOK) or condition(), patience=_WITHIN)
        except AssertionError:
            self.problems.append(f"{problem} within {_WITHIN:g} s")
            return False
        return True

    def _migrated(self) -> bool:
        """Report whether the definition of a server says that no object of another version is stored; let the host say so first."""
        server = self._random.choice(self._servers).caller
        if self._behind_host and not (self._only_stored_in_storage_version(server) and self._old_version_removed()):
            return False
        return _stored_versions(*server.ask("GET", DEFINITION)) == [self._storage]

    def _only_stored_in_storage_version(self, server: Caller) -> bool:
        """Report whether a server counts no object of another version."""
        code, found = server.ask("GET", f"/stored/versions/{NAME}")
        if code != http.HTTPStatus.OK or found["unknown"]:
            return False
        return not any(version["objects"] for version in found["versions"] if version["name"] != self._storage)

    def _old_version_removed(self) -> bool:
        """Remove the old version from the host's definition, and report whether it is gone."""
        code, found = self._client.ask("GET", DEFINITION)
        listed = _stored_versions(code, found)
        if listed is None or listed == [self._storage]:
            return listed is not None
        found["status"]["storedVersions"] = [self._storage]
        return self._client.ask("PUT", f"{DEFINITION}/status", found)[0] == http.HTTPStatus.OK


def _stored_versions(code: int, definition: Any) -> list[str] | None:
    """Return the versions of an answer with a definition, None for another answer."""
    return definition["status"].get("storedVersions") if code == http.HTTPStatus.OK else None
