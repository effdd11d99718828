"""The definitions and objects of a server's backup, as they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.definition_creation import parse_definition, stored_bytes
from apiext.storage.backups.stored_pairs import BackupError
from apiext.tools.backup.manifest import DEFINITIONS_MEMBER, OBJECTS_MEMBER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object

KEYS_OF_DEFINITIONS: Final = f"{CUSTOM_RESOURCE_DEFINITIONS.kind.group}/{CUSTOM_RESOURCE_DEFINITIONS.plural}/"
"""Start of the keys of definitions."""


class LogicalPairs:
    """Implements StoredPairs over the members of a server's backup. Objects have the version in which they were read."""

    revision: Final = 0

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Implement StoredPairs.pairs, definitions first."""
        definitions = {crd["metadata"]["name"]: _restored(parse_definition(crd).object) for crd in self._lines(DEFINITIONS_MEMBER)}
        for name, crd in sorted(definitions.items()):
            yield f"{KEYS_OF_DEFINITIONS}{name}", stored_bytes(crd)
        for line in self._lines(OBJECTS_MEMBER):
            spec, obj = definitions[line["definition"]]["spec"], line["object"]
            namespace, name = obj["metadata"].get("namespace"), obj["metadata"]["name"]
            yield f"{spec['group']}/{spec['names']['plural']}/{f'{namespace}/' if namespace else ''}{name}", stored_form(obj)

    def get(self, key: str) -> bytes | None:
        """Implement StoredPairs.get."""
        return next((value for found, value in self.pairs() if found == key), None)

    def close(self) -> None:
        """Implement StoredPairs.close."""

    def _lines(self, member: str) -> Iterator[Any]:
        try:
            with (self._folder / member).open("rb") as file:
                for line in file:
                    yield json_codec.loads(line)
        except (OSError, ValueError) as error:
            raise BackupError(f"{member} is missing or damaged: {error}") from error


def listed_version(crd: Object) -> str | None:
    """Return the version in which objects are read: the storage version, another one if that is not served; None without any."""
    served = [version for version in crd["spec"]["versions"] if version["served"]]
    found = next((version for version in served if version["storage"]), served[0] if served else None)
    return None if found is None else str(found["name"])


def is_established(crd: Object) -> bool:
    """Report whether a server serves a definition, or did."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _restored(crd: Object) -> Object:
    """Return a definition whose status names the version in which its objects are stored from now on."""
    version, status = listed_version(crd), crd["status"]
    if version is None or version in status["storedVersions"]:
        return crd
    return crd | {"status": status | {"storedVersions": [*status["storedVersions"], version]}}


def stored_form(obj: Object) -> bytes:
    """Return an object as it is stored: without resourceVersion."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return json_codec.dumps(obj | {"metadata": metadata}) + b"\n"
