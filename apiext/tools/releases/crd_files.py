"""The release of definitions in files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding import json_values
from apiext.resources.definitions.composite_definition import composite_crds, ignored_parts, is_composite_definition
from apiext.resources.evaluation.definition_creation import DefinitionRefusedError, complete_draft, create_definition
from apiext.tools.releases.conversions import conversions_of_file
from apiext.tools.releases.interface import Release, SourceError
from apiext.tools.releases.manifests import manifests, read_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.releases.manifests import Manifest, ManifestFile

_GVK: Final = CUSTOM_RESOURCE_DEFINITIONS.kind
_KINDS: Final = b"ResourceDefinition"
"""What the names of both kinds have: CustomResourceDefinition, and CompositeResourceDefinition of Crossplane."""


async def release_of_paths(paths: Sequence[str | Path]) -> Release:
    """Return the release of the definitions in files and folders.

    Raises:
        SourceError: a path cannot be read, or a definition in it.
    """
    return await release_of_files(" ".join(map(str, paths)), read_files(paths))


async def release_of_files(origin: str, files: Iterable[ManifestFile]) -> Release:
    """Return the release of the definitions in files.

    Raises:
        SourceError: a file is invalid, or two files define one name.
    """
    found: dict[str, tuple[Manifest, Object]] = {}
    patches: dict[str, Manifest] = {}
    remarks: list[str] = []
    conversions: dict[str, Object] = {}
    for file in files:
        conversions |= conversions_of_file(file)
        for manifest in crds_of_file(file, remarks):
            name = str(manifest.object["metadata"]["name"])
            if _is_patch(manifest.object):
                patches[name] = manifest
            else:
                draft = _draft(manifest, remarks)
                _check_unique(name, manifest, draft, found)
                found[name] = manifest, draft
    for name, manifest in patches.items():
        if name in found:
            remarks.append(f"{manifest.place}: left out: a patch of {name}, which has no versions")
        else:
            found |= {str(one.object["metadata"]["name"]): (one, _draft(one, remarks)) for one in _made_of(manifest, remarks)}
    release = await create_release(origin, [draft for _, draft in found.values()], remarks=remarks)
    return replace(release, conversions=conversions) if conversions else release


async def create_release(origin: str, drafts: Iterable[Object], *, remarks: Sequence[str] = ()) -> Release:
    """Return the release of definitions in canonical form, each as a server creates it. Names must be unique."""
    definitions: dict[str, Definition] = {}
    refused: dict[str, Sequence[str]] = {}
    kept: dict[str, Object] = {}
    for draft in sorted(drafts, key=lambda draft: str(draft["metadata"]["name"])):
        name = draft["metadata"]["name"]
        try:
            definitions[name] = await create_definition(draft, definitions.values())
        except DefinitionRefusedError as error:
            refused[name], kept[name] = error.reasons, draft
    return Release(origin, definitions, refused, drafts=kept, remarks=remarks)


def crds_of_file(file: ManifestFile, remarks: list[str]) -> Iterator[Manifest]:
    """Yield the CRDs in a file, and the CRDs that Crossplane makes of its XRDs. Append a remark for each part that is left out.

    An XRD without versions is yielded itself: it may be a patch.

    Raises:
        SourceError: the file is invalid, or a definition has no name.
    """
    for manifest in manifests(file, wanted=_KINDS):
        if isinstance(manifest, str):
            remarks.append(manifest)
        elif is_composite_definition(manifest.object):
            yield from [_named(manifest)] if _is_patch(manifest.object) else _made_of(manifest, remarks)
        elif manifest.object["kind"] == _GVK.kind and manifest.object["apiVersion"].startswith(f"{_GVK.group}/"):
            yield _named(manifest)


def _made_of(manifest: Manifest, remarks: list[str]) -> list[Manifest]:
    """Return a CRD, or the CRDs that Crossplane makes of an XRD. Raise SourceError."""
    xrd = manifest.object
    if not is_composite_definition(xrd):
        return [manifest]
    try:
        crds = [_named(replace(manifest, object=crd)) for crd in composite_crds(xrd)]
        remarks += [f"{manifest.place}: Crossplane leaves out {part}" for part in ignored_parts(xrd)]
    except ValueError as error:
        raise SourceError(f"{manifest.place}: {error}") from error
    return crds


def _named(manifest: Manifest) -> Manifest:
    """Return a manifest that has a name. Raise SourceError."""
    metadata = manifest.object.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise SourceError(f"{manifest.place}: metadata.name is missing")
    return manifest


def _is_patch(document: Object) -> bool:
    """Report whether a document is a patch of kustomize: a definition without versions."""
    spec = document.get("spec")
    return not (isinstance(spec, dict) and spec.get("versions"))


def _draft(manifest: Manifest, remarks: list[str]) -> Object:
    """Return the definition in canonical form."""
    document = manifest.object
    if document["apiVersion"] != _GVK.api_version:
        raise SourceError(f"{manifest.place}: apiVersion is {document['apiVersion']!r}, expected {_GVK.api_version!r}")
    try:
        unknown = complete_draft(document)
    except ValueError as error:
        raise SourceError(f"{manifest.place}: {error}") from error
    remarks += [f"{manifest.place}: {problem}" for problem in unknown]
    return document


def _check_unique(name: str, manifest: Manifest, draft: Object, found: dict[str, tuple[Manifest, Object]]) -> None:
    if name in found:
        other, same = found[name]
        if not json_values.equal(same, draft):
            raise SourceError(f"{manifest.place}: {name} is already defined in {other.place}")
