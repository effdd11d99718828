"""Changes the versions of a definition as authors of releases do. Each function says what it did, None if it does not apply."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any, Final

from hack.lib.foretell.schema_mutations import RULES

Json = dict[str, Any]
ReleaseMutation = Callable[[list[Json], random.Random], str | None]


def add_version(versions: list[Json], rng: random.Random) -> str | None:
    """Add a version like another one."""
    added = copy.deepcopy(rng.choice(versions))
    names = {version["name"] for version in versions}
    added |= {"name": next(f"v{number}" for number in range(20, 40) if f"v{number}" not in names), "served": True, "storage": False}
    versions.append(added)
    return f"version {added['name']} added"


def move_storage(versions: list[Json], rng: random.Random) -> str | None:
    """Store another version."""
    others = [version for version in versions if not version["storage"]]
    if not others:
        return None
    chosen = rng.choice(others)
    for version in versions:
        version["storage"] = version is chosen
    return f"{chosen['name']} stored"


def stop_serving(versions: list[Json], rng: random.Random) -> str | None:
    """Serve a version no longer, or again."""
    chosen = rng.choice(versions)
    if chosen["served"] and sum(version["served"] for version in versions) == 1:
        return None
    chosen["served"] = not chosen["served"]
    return f"{chosen['name']} {'served' if chosen['served'] else 'no longer served'}"


def drop_version(versions: list[Json], rng: random.Random) -> str | None:
    """Drop a version, most likely the stored one."""
    if len(versions) == 1 or not any(version["served"] for version in versions[1:]):
        return None
    gone = next(version for version in versions if version["storage"]) if rng.random() < 0.5 else rng.choice(versions)
    rest = [version for version in versions if version is not gone]
    if not any(version["served"] for version in rest):
        return None
    if gone["storage"]:
        rng.choice(rest)["storage"] = True
    versions[:] = rest
    return f"version {gone['name']} dropped"


def change_status(versions: list[Json], rng: random.Random) -> str | None:
    """Add the subresource status, or remove it."""
    chosen = rng.choice(versions)
    subresources = {**(chosen.get("subresources") or {})}
    found = subresources.pop("status", None)
    if found is None:
        subresources["status"] = {}
    chosen["subresources"] = subresources
    return f"subresource status of {chosen['name']} {'added' if found is None else 'removed'}"


def change_scale(versions: list[Json], rng: random.Random) -> str | None:
    """Add the subresource scale with some fields, or remove it."""
    chosen = rng.choice(versions)
    subresources = {**(chosen.get("subresources") or {})}
    if subresources.pop("scale", None) is None:
        known = (chosen["schema"]["openAPIV3Schema"].get("properties") or {}).items()
        fields = {part: below.get("properties") or {} for part, below in known}
        counts = [
            [name for name, below in fields.get(part, {}).items() if below.get("type") == "integer"] or ["replicas"]
            for part in ("spec", "status")
        ]
        names = [*map(rng.choice, counts)]
        subresources["scale"] = {"specReplicasPath": f".spec.{names[0]}", "statusReplicasPath": f".status.{names[1]}"}
    chosen["subresources"] = subresources
    return f"subresource scale of {chosen['name']} {'added' if 'scale' in subresources else 'removed'}"


def remove_rules(versions: list[Json], rng: random.Random) -> str | None:
    """Remove all rules of a version."""
    chosen = rng.choice(versions)
    before = copy.deepcopy(chosen["schema"])
    _without_rules(chosen["schema"])
    return f"all rules of {chosen['name']} removed" if chosen["schema"] != before else None


def _without_rules(schema: Any) -> None:
    if isinstance(schema, dict):
        if isinstance(schema.get(RULES), list):
            del schema[RULES]
        for child in schema.values():
            _without_rules(child)
    elif isinstance(schema, list):
        for child in schema:
            _without_rules(child)


RELEASE_MUTATIONS: Final[tuple[ReleaseMutation, ...]] = (
    add_version,
    move_storage,
    stop_serving,
    drop_version,
    change_status,
    change_scale,
    remove_rules,
)


def mutate_release(versions: list[Json], rng: random.Random) -> str | None:
    """Change the versions by one of the mutations that they allow, and say how."""
    for mutation in rng.sample(RELEASE_MUTATIONS, len(RELEASE_MUTATIONS)):
        done = mutation(versions, rng)
        if done is not None:
            return done
    return None
