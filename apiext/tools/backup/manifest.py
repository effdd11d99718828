"""The form of a backup: a tar file in gzip, which only its owner can read.

backup.json        BackupManifest, the first member
store.db           of an embedded store: a copy of its SQLite file
etcd.snapshot      of an etcd: its snapshot with the digest, as `etcdctl snapshot save` writes it
definitions.jsonl  of a server: definitions, one a line
objects.jsonl      of a server: objects, one a line, each with the name of its definition
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.storage.backups.stored_pairs import BackupError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MANIFEST: Final = "backup.json"
DEFINITIONS_MEMBER: Final = "definitions.jsonl"
OBJECTS_MEMBER: Final = "objects.jsonl"
VERSION: Final = 1
"""Version of the form. A reader refuses later ones."""
_KIND: Final = "Backup"
_TYPES: Final = {
    "time": str,
    "release": str,
    "store": str,
    "origin": str,
    "prefix": str,
    "revision": int,
    "resources": dict,
    "encrypted": int,
}
_MEMBER_TYPES: Final = {"name": str, "size": int, "sha256": str}


@dataclass(frozen=True, slots=True)
class BackupMember:
    """A file of a backup."""

    name: str
    size: int
    """Bytes."""
    sha256: str
    """In hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    """The content and the origin of a backup."""

    time: str
    """When the backup began, in RFC 3339."""
    release: str
    """Version of apiext that wrote it."""
    store: str
    """sqlite, etcd or server."""
    origin: str
    """Description of the source."""
    prefix: str
    """Prefix of the store's keys."""
    revision: int
    """The revision that clients saw, with the offset; 0 for a server."""
    resources: Mapping[str, int]
    """Number of objects by resource."""
    encrypted: int
    """Number of encrypted values."""
    members: Sequence[BackupMember] = ()

    def dump(self) -> bytes:
        """Return the manifest as JSON."""
        document = {
            "kind": _KIND,
            "version": VERSION,
            "time": self.time,
            "release": self.release,
            "store": self.store,
            "origin": self.origin,
            "prefix": self.prefix,
            "revision": self.revision,
            "resources": dict(sorted(self.resources.items())),
            "encrypted": self.encrypted,
            "members": [{"name": one.name, "size": one.size, "sha256": one.sha256} for one in self.members],
        }
        return json_codec.pretty(json_codec.dumps(document, sort_keys=False)) + b"\n"

    @classmethod
    def load(cls, data: bytes) -> BackupManifest:
        """Return the manifest in JSON.

        Raises:
            BackupError: it is not a manifest, or of a later version.
        """
        try:
            document: Any = json_codec.loads(data)
            if document["kind"] != _KIND or type(document["version"]) is not int:
                raise BackupError("it is not a backup of apiext")
            if document["version"] > VERSION:
                raise BackupError(f"it has version {document['version']} of the form; this version of apiext reads up to {VERSION}")
            members = [BackupMember(**_typed(one, _MEMBER_TYPES)) for one in document["members"]]
            manifest = cls(**_typed(document, _TYPES), members=members)
            if not all(type(count) is int for count in manifest.resources.values()):
                raise TypeError
        except (ValueError, TypeError, KeyError) as error:
            raise BackupError("its manifest is invalid") from error
        return manifest


def _typed(document: Any, types: Mapping[str, type]) -> dict[str, Any]:
    """Return the members that have types. Raise TypeError or KeyError if one is missing or has another type."""
    found = {name: document[name] for name in types}
    if not all(type(found[name]) is kind for name, kind in types.items()):
        raise TypeError
    return found
