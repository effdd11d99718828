"""What managers applied, rebuilt from objects: the same as what they sent, under any later definition."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.errors import StatusError
from apiext.resources.evaluation.applied_configuration import owners_of
from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from tests.support.builders.crds import crd, definition
from tests.support.builders.definition_pairs import AppliedObject, root, several, struct, v1
from tests.support.builders.seeds import seeded
from tests.support.judged_objects import manifest, stored_objects

Json = dict[str, Any]
_FIELDS: Final = ("a", "b", "c")
_SENT: Final = ("p", "q")
"""Values that manifests have. In values of one owner no default may be sent: nothing tells whether it was."""
_DEFAULTS: Final = ("x", "y")


def _texts(rng: random.Random) -> dict[str, Json]:
    return {name: {"type": "string"} | ({"default": rng.choice(_DEFAULTS)} if rng.random() < 0.6 else {}) for name in _FIELDS}


def _version(rng: random.Random, keys: list[str]) -> Json:
    """Return a version whose lists and maps have fields with defaults."""
    keyed = _texts(rng)
    items = struct(**keyed) | {"required": [name for name in keys if "default" not in keyed[name]]}
    deep = struct(**_texts(rng)) | ({"default": {}} if rng.random() < 0.5 else {})
    whole = struct(**_texts(rng), deep=deep)
    return v1(
        root(
            keyed=several(items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}),
            list=several(whole),
            map=whole | {"x-kubernetes-map-type": "atomic"},
            parts=whole,
        )
    )


def _some(rng: random.Random, values: tuple[str, ...], *always: str) -> Json:
    return {name: rng.choice(values) for name in _FIELDS if name in always or rng.random() < 0.5}


def _whole(rng: random.Random) -> Json:
    return _some(rng, _SENT) | ({"deep": _some(rng, _SENT, "a")} if rng.random() < 0.5 else {})


def _spec(rng: random.Random, schema: Json, keys: list[str]) -> Json:
    items = schema["properties"]["spec"]["properties"]["keyed"]["items"]
    known: dict[tuple[Any, ...], Json] = {}
    for _ in range(4):
        # a default that is sent has an owner
        item = _some(rng, _SENT + _DEFAULTS, *items["required"])
        known[tuple(item.get(name, items["properties"][name].get("default")) for name in keys)] = item
    return {"keyed": list(known.values()), "list": [_whole(rng), _whole(rng)], "map": _whole(rng), "parts": _whole(rng)}


async def _applied(judged: CompiledDefinition, live: Json, config: Json) -> Any:
    try:
        found = await judged.version("v1").fields().apply(live, config, "applier0", force=False)
    except StatusError as error:
        return error.code, error.message
    return found | {"metadata": [[one["manager"], one["fieldsV1"]] for one in found["metadata"]["managedFields"]]}


@pytest.mark.parametrize("number", range(25))
async def test_a_rebuilt_manifest_does_what_the_sent_one_does(number: int) -> None:
    """Apply both to an object under the old and another definition; the results and the owners are equal."""
    rng = seeded(f"rebuilt {number}")
    keys = rng.sample(_FIELDS, rng.randint(1, 3))
    versions = _version(rng, keys), _version(rng, keys)
    old, new = (CompiledDefinition(definition(crd("widgets", one, group="pairs.example.com"))) for one in versions)
    given = AppliedObject((_spec(rng, versions[0]["schema"]["openAPIV3Schema"], keys),))
    (stored,) = await stored_objects(old.definition, [given])
    data = [json_codec.dumps(stored.object)]
    sent = manifest(old.definition, "o0", given, given.specs[0])
    (before,), (after,) = await old.read("v1", data), await new.read("v1", data)
    assert not isinstance(before, Exception)
    assert not isinstance(after, Exception)

    (owner,) = owners_of(before)
    rebuilt = owner.configuration(old.version("v1"), before)

    assert await _applied(old, before, rebuilt) == await _applied(old, before, sent)
    assert await _applied(new, after, rebuilt) == await _applied(new, after, sent)
