"""The keys that encrypt the objects of the long run; a new one takes over now and then."""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hack.lib.soak.access import Access
from hack.lib.soak.attack import BROKEN
from hack.lib.soak.long.collection import GROUP, PLURAL

_KINDS: Final = (("aescbc", 32), ("aesgcm", 32), ("secretbox", 32))
"""Providers in turn, with the bytes of their keys."""
_KEPT: Final = 3
"""Keys in the file: watches that resume read changes of a few minutes ago."""
_IN_USE: Final = re.compile(rb'^apiserver_encryption_config_controller_last_config_info\{.*hash="sha256:([0-9a-f]+)"', re.MULTILINE)
_PATIENCE: Final = 5.0


class KeyRing:
    """The file of --encryption-provider-config; all servers read it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._made = 0
        self._providers = [self._new()]
        self._write()
        self.flags: Sequence[str] = (f"--encryption-provider-config={file}", "--encryption-provider-config-automatic-reload=true")

    def announce(self) -> None:
        """Add a new key, which decrypts only."""
        self._providers.insert(1, self._new())
        self._write()

    def promote(self) -> None:
        """Let the new key encrypt."""
        self._providers[:2] = self._providers[1::-1]
        self._write()

    def forget(self) -> None:
        """Remove the oldest keys."""
        del self._providers[_KEPT:]
        self._write()

    def in_use(self, servers: Sequence[Access]) -> bool:
        """Report whether all servers have read the file."""
        wanted = hashlib.sha256(self._file.read_bytes()).hexdigest()
        return all(_digest(server) == wanted for server in servers)

    def _new(self) -> dict[str, dict[str, list[dict[str, str]]]]:
        """Return a provider with a new key."""
        kind, size = _KINDS[self._made % len(_KINDS)]
        self._made += 1
        secret = base64.b64encode(secrets.token_bytes(size)).decode()
        return {kind: {"keys": [{"name": f"key{self._made}", "secret": secret}]}}

    def _write(self) -> None:
        resources = [{"resources": [f"{PLURAL}.{GROUP}"], "providers": [*self._providers, {"identity": {}}]}]
        whole = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": resources}
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(whole))
        new.replace(self._file)


def _digest(server: Access) -> str:
    """Return the digest of the file that a server uses, empty without an answer."""
    try:
        found = _IN_USE.search(server.metrics(_PATIENCE))
    except BROKEN:
        return ""
    return found[1].decode() if found else ""
