"""Stored bytes that name a version whose fields they do not have.

With the strategy None, every version has the fields of every other one, and a write names the storage version, whatever fields it has.
If a webhook converts from now on, and a version that bytes name has other fields in the new definition, the webhook never sees these
bytes: they are in that version already. A read drops the fields that the version no longer has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.lab.plan import stages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from apiext.definitions.definition import Definition
    from apiext.meta.encoding.json_codec import Object


@dataclass(frozen=True, slots=True)
class Mislabelled:
    """Versions that bytes may name, although they do not have its new fields."""

    versions: tuple[str, ...]
    fields: tuple[str, ...]
    """The fields that the bytes have, and these versions no longer."""
    keeper: str
    """A version that keeps the fields: after a migration to it, the webhook converts all bytes. "" if there is none."""


def find_mislabelled(old: Definition, new: Object, stored: Sequence[str]) -> Mislabelled | None:
    """Return the versions whose bytes the webhook of a new definition would misread; None if there are none."""
    spec, wanted = old.object["spec"], new["spec"]
    if stages.has_webhook(spec) or not stages.has_webhook(wanted):
        return None
    before, after = _schemas(spec), _schemas(wanted)
    lost = {name: list(lost_fields(before[name], after[name])) for name in stored if name in before and name in after}
    names = tuple(name for name, fields in lost.items() if fields)
    if not names:
        return None
    shape = before[old.storage_version.name]
    keepers = (name for name in before if name in after and not any((*lost_fields(shape, after[name]), *lost_fields(shape, before[name]))))
    fields = sorted({field for name in names for field in lost[name]})
    return Mislabelled(names, tuple(fields), next(keepers, ""))


def keeping_version(old: Object, new: Object) -> str:
    """Return the version in which objects keep their fields when a spec without a webhook replaces one with it.

    It is the new storage version if no version, or that one, keeps all fields.
    """
    before, after, storage = _schemas(old), _schemas(new), stages.storage_of(new)
    names = [storage, *(name for name in after if name != storage and name in before)]
    return next((name for name in names if not any(lost_fields(before.get(name, {}), after[name]))), storage)


def lost_fields(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the fields of a schema that another one does not have, as `spec.hosts[].name`."""
    if new.get("x-kubernetes-preserve-unknown-fields"):
        return
    for name, child in (old.get("properties") or {}).items():
        place = f"{path}.{name}" if path else name
        known = (new.get("properties") or {}).get(name, new.get("additionalProperties"))
        if isinstance(known, dict):
            yield from lost_fields(child, known, place)
        elif not known:
            yield place
    for member in ("items", "additionalProperties"):
        inner, other = old.get(member), new.get(member)
        if isinstance(inner, dict) and isinstance(other, dict):
            yield from lost_fields(inner, other, f"{path}[]")


def _schemas(spec: Object) -> dict[str, Mapping[str, Any]]:
    return {version["name"]: (version.get("schema") or {}).get("openAPIV3Schema") or {} for version in spec["versions"]}
