"""Loads the CRDs of files and folders into a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.resources.definitions.composite_definition import without_owner
from apiext.tools.plan.step_chain import manifest_of
from apiext.tools.releases.cluster_connection import DEFINITIONS
from apiext.tools.releases.crd_files import crds_of_file
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.manifests import read_files
from apiext.tools.replay.server_client import RefusedError
from apiext.tools.replay.settling import wait_until_served
from apiext.tools.testkit.kit_error import KitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.replay.server_client import ServerClient

_GVK: Final = CUSTOM_RESOURCE_DEFINITIONS.kind
_EXISTS: Final = 409


async def load_definitions(server: ServerClient, paths: Sequence[str | Path], redirect: Callable[[Object], Object]) -> list[str]:
    """Create the CRDs in files and folders, and those of XRDs, or replace those with their names. Return the names once all are served.

    Raises:
        KitError: there is no CRD in the paths, a file is invalid, or the server refuses a CRD.
    """
    found = [redirect(crd) for crd in _definitions(paths)]
    if not found:
        raise KitError(f"{' '.join(map(str, paths))}: no {_GVK.kind} is there")
    for crd in found:
        await apply_definition(server, crd)
    names = [str(crd["metadata"]["name"]) for crd in found]
    for name in names:
        await wait_for_definition(server, name)
    return names


async def apply_definition(server: ServerClient, crd: Object) -> None:
    """Create a CRD, or replace the one with its name. Raises KitError if the server refuses it."""
    name = str(crd["metadata"]["name"])
    try:
        try:
            await server.ask("POST", DEFINITIONS, crd)
        except RefusedError as error:
            if error.code != _EXISTS:
                raise
            await server.patch_definition(name, manifest_of(crd, await server.definition(name)))
    except RefusedError as error:
        raise KitError(f"the server refuses {name}: {error}") from error


async def wait_for_definition(server: ServerClient, name: str) -> None:
    """Wait until the server serves a CRD. Raises KitError if it does not."""
    problem = await wait_until_served(server, name)
    if problem:
        raise KitError(f"{name}: {problem}")


def _definitions(paths: Sequence[str | Path]) -> Iterator[Object]:
    try:
        for file in read_files(paths):
            yield from (without_owner(manifest.object) for manifest in crds_of_file(file, []))
    except SourceError as error:
        raise KitError(str(error)) from error
