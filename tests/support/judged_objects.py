"""Makes objects as a server stores them after server-side applies."""

from collections.abc import Sequence
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.tools.releases.interface import SourceObject
from tests.support.builders.definition_pairs import AppliedObject

Json = dict[str, Any]
TIME: Final = "2026-01-01T00:00:00Z"


def manifest(definition: Definition, name: str, given: AppliedObject, spec: Json) -> Json:
    """Return what a manager applies."""
    metadata: Json = {"name": name, "namespace": "default"} | given.metadata
    return {
        "apiVersion": f"{definition.group}/{given.version}",
        "kind": definition.names.kind,
        "metadata": metadata,
        "spec": spec,
    }


async def stored_objects(definition: Definition, objects: Sequence[AppliedObject]) -> list[SourceObject]:
    """Return objects in their stored form, named o0, o1 and so on."""
    judged = CompiledDefinition(definition)
    return [await _stored(judged, f"o{index}", given) for index, given in enumerate(objects)]


async def _stored(judged: CompiledDefinition, name: str, given: AppliedObject) -> SourceObject:
    version = judged.version(given.version)
    obj: Json = {}
    for index, spec in enumerate(given.specs):
        config = manifest(judged.definition, name, given, spec)
        obj = await version.fields().apply(obj, config, f"applier{index}", force=False)
        obj["metadata"] |= {"uid": f"uid-of-{name}", "generation": 1, "creationTimestamp": TIME}
    if given.status is not None:
        obj["status"] = given.status
    (data,) = await judged.store(given.version, [obj])
    assert isinstance(data, bytes)
    return SourceObject(f"default/{name}", json_codec.loads(data), is_stored=True)
