"""The Conversions of a release: from files beside its definitions, or stored as objects."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from apiext.resources.conversion.rules.model import DEFINITION, GROUP, KIND
from apiext.tools.releases.manifests import manifests

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.releases.interface import Release, WholeSource
    from apiext.tools.releases.manifests import ManifestFile

_WANTED: Final = f"{GROUP}/".encode()


def conversions_of_file(file: ManifestFile) -> Mapping[str, Object]:
    """Return the Conversions of a file by name.

    Raises:
        SourceError: a file with a Conversion is invalid.
    """
    found = {}
    for manifest in manifests(file, wanted=_WANTED):
        if not isinstance(manifest, str) and manifest.object["kind"] == KIND and manifest.object["apiVersion"].startswith(f"{GROUP}/"):
            name = (manifest.object.get("metadata") or {}).get("name")
            if isinstance(name, str):
                found[name] = manifest.object
    return found


async def with_conversions(source: WholeSource, release: Release) -> Release:
    """Return a release of a source with the Conversions that the source stores, if it has their definition.

    Raises:
        SourceError: the source cannot be read.
    """
    if release.conversions:
        return release
    definition = (await source.release([DEFINITION])).definitions.get(DEFINITION)
    if definition is None:
        return release
    found: dict[str, Object] = {}
    async with aclosing(source.pages(definition)) as pages:
        async for page in pages:
            found |= {one.object["metadata"]["name"]: one.object for one in page if not one.problem}
    return replace(release, conversions=found)
