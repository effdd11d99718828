"""The specs of definitions between the old and the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from apiext.base.meta.encoding.json_codec import Object


def storage_of(spec: Object) -> str:
    """Return the storage version of a spec, "" if it has none."""
    return next((str(version["name"]) for version in spec["versions"] or () if version["storage"]), "")


def names_of(spec: Object) -> list[str]:
    """Return the names of the versions, in the order of the spec."""
    return [version["name"] for version in spec["versions"] or ()]


def served_of(spec: Object) -> list[str]:
    """Return the names of the served versions, in the order of the spec."""
    return [version["name"] for version in spec["versions"] or () if version["served"]]


def has_webhook(spec: Object) -> bool:
    """Report whether a webhook converts."""
    return bool(spec["conversion"]["strategy"] == "Webhook")


def joined(old: Object, new: Object, *, storage: str) -> Object:
    """Return the new spec with all versions of both, and the old ones where both have one: served as before, and no new schema yet.

    The new webhook converts, else the old one.
    """
    before = {version["name"]: version for version in old["versions"]}
    versions = [before.get(version["name"], version) for version in new["versions"]]
    versions += [version for version in old["versions"] if version["name"] not in names_of(new)]
    conversion = old["conversion"] if has_webhook(old) and not has_webhook(new) else new["conversion"]
    return with_storage(new | {"versions": versions, "conversion": conversion}, storage)


def with_storage(spec: Object, storage: str) -> Object:
    """Return a spec with another storage version, which is served: a migration reads and writes it."""
    return spec | {
        "versions": [
            version | {"storage": version["name"] == storage, "served": version["served"] or version["name"] == storage}
            for version in spec["versions"]
        ]
    }


def unserved(spec: Object, names: Collection[str]) -> Object:
    """Return a spec that does not serve these versions."""
    return spec | {"versions": [version | {"served": version["served"] and version["name"] not in names} for version in spec["versions"]]}


def deprecated(spec: Object, names: Collection[str]) -> Object:
    """Return a spec in which these versions are deprecated."""
    return spec | {"versions": [version | ({"deprecated": True} if version["name"] in names else {}) for version in spec["versions"]]}


def state_of(spec: Object) -> str:
    """Return the versions and the conversion strategy in the form that the checks of the steps print."""
    marks = [f"{one['name']}={str(one['served']).lower()}/{str(one['storage']).lower()}" for one in spec["versions"]]
    return " ".join([*marks, spec["conversion"]["strategy"]])
