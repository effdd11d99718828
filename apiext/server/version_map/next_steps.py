"""What can be dropped next from a definition, each step with its command, and what has to be done before."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from apiext.base.meta.builtin_resources import STORAGEMIGRATION_V1
from apiext.base.texts import counted
from apiext.server.version_map.entries import MigrationWay

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.stored_bytes.version_counts import StoredCounts


def next_steps(definition: Definition, counts: StoredCounts, way: MigrationWay) -> list[Object]:
    """Return the steps that are possible now, in the order in which they lead to fewer versions."""
    if not definition.owns_objects:
        return []
    steps = [*_rescue(definition, counts), *_migration(definition, counts, way), *_stored_entries(definition, counts)]
    return [*steps, *_unserved(definition, counts), *_deprecated(definition)]


def _entries(definition: Definition) -> list[str]:
    return definition.head["status"]["storedVersions"] or []


def _step(does: str, command: str = "") -> Object:
    return {"does": does, "command": command}


def _rescue(definition: Definition, counts: StoredCounts) -> Iterator[Object]:
    known = {version.name for version in definition.versions}
    lost = sum(number for version, number in counts.by_version.items() if version not in known)
    if lost:
        yield _step(f"Repair {counted(lost, 'object')} of no current version", f"apiext rescue list {shlex.quote(definition.name)}")


def _migration(definition: Definition, counts: StoredCounts, way: MigrationWay) -> Iterator[Object]:
    """Yield the migration of objects that are stored in other versions of the definition."""
    storage = definition.storage_version.name
    left = sum(counts.of(version.name) for version in definition.versions if not version.storage)
    if not left:
        return
    does = f"Store {counted(left, 'object')} in {storage}"
    if way is MigrationWay.AUTOMATIC:
        yield _step(f"{does}: the server does it by itself (--migrate=auto)")
    elif way is MigrationWay.REQUESTED:
        yield _step(does, _migration_command(definition))
    else:
        yield _step(f"{does}: start apiext with --migrate=auto")


def _migration_command(definition: Definition) -> str:
    migration = {
        "apiVersion": str(STORAGEMIGRATION_V1.group_version),
        "kind": "StorageVersionMigration",
        "metadata": {"generateName": f"{definition.names.plural}-"},
        "spec": {"resource": {"group": definition.group, "resource": definition.names.plural}},
    }
    return f"kubectl create -f - <<'EOF'\n{json.dumps(migration)}\nEOF"


def _stored_entries(definition: Definition, counts: StoredCounts) -> Iterator[Object]:
    """Yield the removal of entries of status.storedVersions without objects."""
    entries, storage = _entries(definition), definition.storage_version.name
    unused = [name for name in entries if name != storage and not counts.at_most(name)]
    if unused:
        patch = {"status": {"storedVersions": [name for name in entries if name not in unused]}}
        yield _step(f"Drop {_named(unused)} from status.storedVersions", _patch(definition, patch, "--subresource=status --type=merge"))


def _unserved(definition: Definition, counts: StoredCounts) -> Iterator[Object]:
    """Yield the removal of a version that is neither served nor stored."""
    for place, version in enumerate(definition.versions):
        name = version.name
        if not (version.served or version.storage or name in _entries(definition) or counts.at_most(name)):
            # the test fails if somebody has changed the list meanwhile
            where = f"/spec/versions/{place}"
            patch = [{"op": "test", "path": f"{where}/name", "value": name}, {"op": "remove", "path": where}]
            yield _step(f"Drop {name} from spec.versions", _patch(definition, patch, "--type=json"))
            return


def _deprecated(definition: Definition) -> Iterator[Object]:
    """Yield the end of serving a deprecated version."""
    for place, version in enumerate(definition.versions):
        if version.deprecated and version.served and len(definition.served_versions) > 1:
            where = f"/spec/versions/{place}"
            patch = [
                {"op": "test", "path": f"{where}/name", "value": version.name},
                {"op": "replace", "path": f"{where}/served", "value": False},
            ]
            yield _step(f"Stop serving {version.name}, once no client uses it", _patch(definition, patch, "--type=json"))
            return


def _patch(definition: Definition, patch: object, flags: str) -> str:
    text = shlex.quote(json.dumps(patch))
    return f"kubectl patch customresourcedefinition {shlex.quote(definition.name)} {flags} -p {text}"


def _named(names: list[str]) -> str:
    return ", ".join(names)
