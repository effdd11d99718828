"""Explains the updates that manifests would make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.compiled_definition import CompiledDefinition, open_converters
from apiext.resources.evaluation.explanation import Explanation, explain_update
from apiext.tools.judgement.stored_page import DEFAULT_NAMESPACE, with_metadata
from apiext.tools.places import PlaceKind, open_release, open_source, place_of
from apiext.tools.releases.cluster_connection import resource_path
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.manifests import manifests, read_files
from apiext.tools.releases.object_pages import object_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.places import Access
    from apiext.tools.releases.interface import Release


@dataclass(frozen=True, slots=True)
class ExplainedManifest:
    """A manifest with the explanation of its update."""

    key: str
    definition: str
    """The name of its definition."""
    is_create: bool
    """Whether there is no old object."""
    explanation: Explanation


async def explain_manifests(file: str, crd: str, old: str, access: Access, *, subresource: str = "") -> list[ExplainedManifest]:
    """Return the explanations of the custom resources in a file. `crd` and `old` are places; `old` may be empty: then all are created.

    Raises:
        SourceError: a place cannot be read, or an object has no definition.
    """
    release = await open_release(crd, access)
    found = []
    for obj in _objects(file):
        definition = _definition(release, obj)
        given = _with_namespace(definition, obj)
        before = await _old_object(definition, given, old, access) if old else None
        found.append(await _explained(definition, given, before, subresource))
    if not found:
        raise SourceError(f"{file} has no objects")
    return found


def _objects(file: str) -> list[Object]:
    return [found.object for each in read_files([file]) for found in manifests(each) if not isinstance(found, str)]


def _definition(release: Release, obj: Object) -> Definition:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    for definition in release.definitions.values():
        if (definition.group, definition.names.kind) == (group, obj.get("kind")):
            if version not in {each.name for each in definition.served_versions}:
                raise SourceError(f"{object_key(obj)}: {release.origin} does not serve {version} of {definition.name}")
            return definition
    raise SourceError(f"{object_key(obj)}: {release.origin} has no definition of {group}, Kind={obj.get('kind')}")


def _with_namespace(definition: Definition, obj: Object) -> Object:
    is_complete = not definition.namespaced or "namespace" in (obj.get("metadata") or {})
    return with_metadata(obj) if is_complete else with_metadata(obj, namespace=DEFAULT_NAMESPACE)


async def _old_object(definition: Definition, obj: Object, old: str, access: Access) -> Object | None:
    """Return the object of the same name at a place, None if there is none."""
    place = await place_of(old)
    if place.kind is PlaceKind.CLUSTER:
        cluster = (replace(access.cluster, kubeconfig=place.text) if place.text else access.cluster).connect()
        try:
            return await cluster.get(_path(definition, obj))
        finally:
            await cluster.close()
    source = await open_source(old, access)
    try:
        async for page in source.pages(definition):
            for each in page:
                if _same_object(definition, each.object, obj):
                    return _with_namespace(definition, each.object)
    finally:
        await source.close()
    return None


def _same_object(definition: Definition, one: Object, other: Object) -> bool:
    return object_key(_with_namespace(definition, one)) == object_key(other)


def _path(definition: Definition, obj: Object) -> str:
    version, metadata = obj["apiVersion"].rpartition("/")[2], obj["metadata"]
    path = resource_path(definition.group, version, definition.names.plural)
    if definition.namespaced:
        path = path.removesuffix(definition.names.plural) + f"namespaces/{metadata['namespace']}/{definition.names.plural}"
    return f"{path}/{metadata.get('name', '')}"


async def _explained(definition: Definition, given: Object, before: Object | None, subresource: str) -> ExplainedManifest:
    name, key = given["apiVersion"].rpartition("/")[2], object_key(given)
    async with open_converters(None, definition, calls=False) as converters:
        judged = CompiledDefinition(definition, converters.new)
        if not judged.version(name).has(subresource):
            raise SourceError(f"{definition.name} has no subresource {subresource} in {name}")
        live = await _live(judged, name, key, before)
    try:
        explanation = explain_update(judged.version(name), given, live, subresource)
    except ValueError as error:
        raise SourceError(f"{key}: {error}") from error
    return ExplainedManifest(key, definition.name, live is None, explanation)


async def _live(judged: CompiledDefinition, name: str, key: str, before: Object | None) -> Object | None:
    """Return the old object as the definition gives it to an update in a version."""
    if before is None:
        return None
    found: Sequence[Object | Exception] = await judged.read(name, [json_codec.dumps(before)])
    (live,) = found
    if isinstance(live, Exception):
        raise SourceError(f"{key}: the old object cannot be read at {name}: {live}") from live
    return live
