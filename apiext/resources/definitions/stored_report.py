"""Stored objects of a definition by version: the document of `/stored/versions` and `apiext versions`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.stored_bytes.version_counts import StoredCounts


def stored_report(definition: Definition, counts: StoredCounts) -> Object:
    """Return all current and former versions of a definition with their numbers of stored objects."""
    entries = definition.head["status"]["storedVersions"] or []
    known = {version.name: version for version in definition.versions}
    others = sorted({*entries, *counts.by_version} - {*known, ""})
    return {
        "name": definition.name,
        "resourceVersion": str(counts.revision),
        "objects": counts.total,
        "unknown": counts.unknown,
        "versions": [
            {
                "name": name,
                "served": name in known and known[name].served,
                "storage": name in known and known[name].storage,
                "deprecated": name in known and known[name].deprecated,
                "stored": name in entries,
                "objects": counts.of(name),
            }
            for name in (*known, *others)
        ],
    }
