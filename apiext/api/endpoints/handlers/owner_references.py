"""Drops duplicate owner references with a warning (apiserver pkg/endpoints/handlers/rest.go)."""

from __future__ import annotations

from typing import Any

from apiext.base.meta.encoding.json_codec import Object


def dedup_owner_references(obj: Object, warnings: list[str], *, after_admission: bool = False) -> None:
    """Drop duplicate owner references and add a warning. Replace the metadata instead of changing it."""
    metadata = obj.get("metadata") or {}
    references = metadata.get("ownerReferences")
    if not references or len(references) < 2:
        return
    kept: list[Any] = []
    dropped: list[str] = []
    seen: set[frozenset[tuple[str, str]]] = set()
    for reference in references:
        # the members are strings and booleans at this point
        known = frozenset((name, repr(member)) for name, member in reference.items())
        if known in seen:
            dropped.append(str(reference.get("uid", "")))
        else:
            seen.add(known)
            kept.append(reference)
    if not dropped:
        return
    when = " after mutating admission happens" if after_admission else ""
    warnings.append(
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may reject "
        f"such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {', '.join(dropped)}"
    )
    obj["metadata"] = {**metadata, "ownerReferences": kept}
