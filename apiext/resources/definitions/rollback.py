"""Steps back to an earlier state of a definition without versions in which objects are now stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.stored_bytes.version_counts import StoredCounts


def blocking_versions(existing: Object, wanted: Object) -> list[str]:
    """Return the entries of status.storedVersions that the wanted definition lacks."""
    names = {version["name"] for version in wanted["spec"]["versions"] or ()}
    return [name for name in existing["status"]["storedVersions"] or () if name not in names]


def steps(existing: Object, wanted: Object, counts: StoredCounts, *, migrates: bool) -> list[str]:
    """Return the steps for a person, with commands, until the wanted definition is acceptable; none if nothing blocks it.

    `counts` are the stored objects of the existing definition. `migrates`: the server has StorageVersionMigrations.
    """
    blocking, spec = blocking_versions(existing, wanted), existing["spec"]
    name, target = existing["metadata"]["name"], _storage_version(wanted)
    if not blocking or not target:
        return []
    found = []
    if _storage_version(existing) != target:
        found.append(f"make {target} the storage version: {_flip(existing, wanted)}")
    stored = {version: counts.of(version) for version in blocking if counts.of(version)}
    if stored:
        numbers = " and ".join(f"{number} of {version}" for version, number in stored.items())
        found.append(f"store the objects in {target} ({numbers}): {_migration(spec, target, migrates=migrates)}")
    if counts.unknown:
        found.append(f"repair or delete the objects that cannot be read ({counts.unknown}): apiext rescue list {name}")
    kept = [version for version in existing["status"]["storedVersions"] if version not in blocking and version != target]
    status = json_codec.dumps({"status": {"storedVersions": [*kept, target]}}).decode()
    found.append(f"remove {', '.join(blocking)} from status.storedVersions: {_patch(name, '--subresource=status --type=merge', status)}")
    return found


def _storage_version(crd: Object) -> str:
    return next((str(version["name"]) for version in crd["spec"]["versions"] if version["storage"]), "")


def _flip(existing: Object, wanted: Object) -> str:
    """Return the command that makes the wanted definition's storage version the current one."""
    target, versions = _storage_version(wanted), existing["spec"]["versions"]
    if target not in (version["name"] for version in versions):
        names = ", ".join(version["name"] for version in versions)
        return f"add {target} to spec.versions beside {names}, with storage: true there only"
    changes: list[Object] = []
    for place, version in enumerate(versions):
        is_target = version["name"] == target
        # the API rewrites the objects in this version, so it must be served
        wrong = {member: value for member, value in (("storage", is_target), ("served", True)) if version[member] != value}
        if not is_target:
            wrong.pop("served", None)
        changes += [{"op": "replace", "path": f"/spec/versions/{place}/{member}", "value": value} for member, value in wrong.items()]
    return _patch(existing["metadata"]["name"], "--type=json", json_codec.dumps(changes).decode())


def _migration(spec: Object, target: str, *, migrates: bool) -> str:
    """Return the command that rewrites all stored objects."""
    plural, group = spec["names"]["plural"], spec["group"]
    if not migrates:
        return f"kubectl get {plural}.{target}.{group} -A -o json | kubectl replace -f -"
    migration = {
        "apiVersion": "storagemigration.k8s.io/v1",
        "kind": "StorageVersionMigration",
        "metadata": {"generateName": f"{plural}-"},
        "spec": {"resource": {"group": group, "resource": plural}},
    }
    return f"echo '{json_codec.dumps(migration, sort_keys=False).decode()}' | kubectl create -f -"


def _patch(name: str, flags: str, patch: str) -> str:
    return f"kubectl patch crd {name} {flags} -p '{patch}'"
