"""Makes pairs of releases: a real definition, a few changes of it, and objects that the older of the two accepts."""

from __future__ import annotations

import copy
import random
from typing import Any, Final

from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.definition_creation import DefinitionRefusedError, create_definition, validate_update
from hack.lib.differential.comparison import prepared
from hack.lib.differential.generated_objects import MAX_DEPTH, generate, generate_resource
from hack.lib.foretell.release_mutations import mutate_release
from hack.lib.foretell.release_pair import AppliedBodies, ReleasePair
from hack.lib.foretell.schema_mutations import mutate_place
from hack.lib.foretell.schema_places import places

Json = dict[str, Any]
OBJECTS: Final = 4
_ATTEMPTS: Final = 6
"""Changes that are tried until a server accepts one, and objects that are tried for each wanted one."""
_DEPTHS: Final = (0, 2, MAX_DEPTH - 1, MAX_DEPTH)
_MOST_CHANGES: Final = 3
_AT_ROOT: Final = 0.15
"""Share of the changes that concern the root of the schema."""
_WITHOUT_META: Final = ("apiVersion", "kind", "metadata")


class NoPairError(Exception):
    """No change of a definition is accepted, or the older one accepts none of the generated objects."""


async def mutated_pair(crd: Json, label: str, group_prefix: str, rng: random.Random) -> ReleasePair:
    """Return a real definition and a change of it, or the change and then the definition, with objects of the first.

    Groups of other pairs have other prefixes.

    Raises:
        NoPairError: there is none.
    """
    base = _own(crd, group_prefix)
    try:
        await create_definition(canonical(base))
    except DefinitionRefusedError as error:
        raise NoPairError(str(error)) from error
    guides = [given for version in base["spec"]["versions"] for given in _objects(base, version, rng, OBJECTS)]
    refused: list[Json] = []
    for _ in range(_ATTEMPTS):
        changed, notes = _changed(base, guides, rng)
        is_back = rng.random() < 0.5
        old, new = (changed, base) if is_back else (base, changed)
        if not await _is_accepted(base, changed, refused, is_back=is_back):
            continue
        objects = applied_bodies(await create_definition(canonical(old)), old, rng)
        if objects:
            name = f"{label} {crd['metadata']['name']}: {'back from ' if is_back else ''}{'; '.join(notes)}"
            return ReleasePair(name, old, new, objects, tuple(refused))
    raise NoPairError(crd["metadata"]["name"])


def _own(crd: Json, group_prefix: str) -> Json:
    """Return a definition in a group of its own, namespaced."""
    found: Json = prepared(copy.deepcopy(crd))
    spec = found["spec"]
    group = f"{group_prefix}.{spec['group']}"
    found["spec"] = spec | {"group": group, "scope": "Namespaced", "conversion": {"strategy": "None"}}
    annotations = (crd["metadata"].get("annotations") or {}).items()
    kept = {name: text for name, text in annotations if name == "api-approved.kubernetes.io"}
    found["metadata"] = {"name": f"{spec['names']['plural']}.{group}"} | ({"annotations": kept} if kept else {})
    found.pop("status", None)
    return found


def _changed(base: Json, guides: list[Json], rng: random.Random) -> tuple[Json, list[str]]:
    """Return a definition with a few changes, most of them where objects have values, and what they are."""
    found = copy.deepcopy(base)
    versions, notes = found["spec"]["versions"], []
    if rng.random() < 0.4:
        notes.append(mutate_release(versions, rng))
    for _ in range(rng.randint(0 if notes else 1, _MOST_CHANGES)):
        version = rng.choice(versions)
        schema = version["schema"]["openAPIV3Schema"]
        known = places(schema, guides)
        used = [place for place in known if place.values]
        chosen = used if used and rng.random() < 0.85 else known
        # violations at the root are never tolerated
        place = known[0] if rng.random() < _AT_ROOT else rng.choice(chosen)
        note = mutate_place(place, rng)
        notes.append(note and f"{version['name']} {note}")
    return found, [note for note in notes if note]


async def _is_accepted(base: Json, changed: Json, refused: list[Json], *, is_back: bool) -> bool:
    """Return whether a server creates a changed definition, and updates the older one. Collect the first one that it refuses.

    Nevertheless accept an update that drops a stored version: the run first moves the storage.
    """
    try:
        after = await create_definition(canonical(changed))
    except DefinitionRefusedError:
        refused += [] if refused else [changed]
        return False
    old, new = (after, base) if is_back else (await create_definition(canonical(base)), changed)
    reasons = validate_update(old, canonical(new))
    return all(reason.startswith("status.storedVersions") for reason in reasons)


def _objects(crd: Json, version: Json, rng: random.Random, count: int) -> list[Json]:
    """Return generated objects of a version, most likely valid."""
    schema, kind = version["schema"]["openAPIV3Schema"], crd["spec"]["names"]["kind"]
    api_version = f"{crd['spec']['group']}/{version['name']}"
    return [
        generate_resource(schema, rng, api_version=api_version, kind=kind, depth=_DEPTHS[place % len(_DEPTHS)]) for place in range(count)
    ]


def applied_bodies(definition: Definition, crd: Json, rng: random.Random) -> tuple[AppliedBodies, ...]:
    """Return objects that a server most likely accepts, in any served version."""
    judged = CompiledDefinition(definition)
    namespace = {"namespace": "default"} if definition.namespaced else {}
    served = [version for version in crd["spec"]["versions"] if version["served"]]
    found: list[AppliedBodies] = []
    for _ in range(OBJECTS):
        version = rng.choice(served)
        for made in _objects(crd, version, rng, _ATTEMPTS):
            made["metadata"] |= {"name": "o0"} | namespace
            body = valid_body(judged, version, made, rng)
            if body is not None:
                found.append(body)
                break
    return tuple(found)


def valid_body(judged: CompiledDefinition, version: Json, made: Json, rng: random.Random) -> AppliedBodies | None:
    """Return what managers apply for a generated object, None if a create of it is invalid."""
    chosen = judged.version(version["name"])
    has_status = chosen.has("status")
    without = {name: value for name, value in made.items() if name != "status"} if has_status else made
    try:
        decoded, _ = chosen.decode(without)
    except ValueError:
        return None
    if chosen.create_errors(decoded):
        return None
    body = {name: value for name, value in without.items() if name not in _WITHOUT_META}
    bodies = (body,) if rng.random() < 0.8 else (body, {name: value for name, value in body.items() if name == "spec"})
    status = (version["schema"]["openAPIV3Schema"].get("properties") or {}).get("status")
    if not has_status or status is None or rng.random() < 0.4:
        return AppliedBodies(bodies, version["name"])
    value = made.get("status") or generate(status, rng, 2)
    return AppliedBodies(bodies, version["name"], value if isinstance(value, dict) and value else None)
