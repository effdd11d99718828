"""Reads definitions and objects of any server into the members of a backup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.definitions.codec import GVK, RESOURCE
from apiext.resources.definitions.conditions import ESTABLISHED, is_true
from apiext.tools.backup.errors import BackupError
from apiext.tools.backup.logical_pairs import listed_version
from apiext.tools.backup.manifest import DEFINITIONS_MEMBER, OBJECTS_MEMBER
from apiext.tools.releases.cluster_connection import resource_path
from apiext.tools.releases.interface import SourceError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path
    from typing import BinaryIO

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.releases.cluster_connection import ClusterConnection

_DEFINITIONS: Final = resource_path(GVK.group, GVK.version, RESOURCE.resource)


async def read_server(server: ClusterConnection, groups: Collection[str], folder: Path) -> list[Path]:
    """Write the definitions of some groups (none: of all) and their objects to files in a folder, and return the files.

    Objects have the storage version, or another one if that is not served.

    Raises:
        BackupError: the server does not answer or refuses, has no such group, serves no version of a definition, or stops to serve one.
    """
    members = [folder / DEFINITIONS_MEMBER, folder / OBJECTS_MEMBER]
    try:
        with members[0].open("xb") as definitions, members[1].open("xb") as objects:
            missing = set(groups)
            async for page in server.pages(_DEFINITIONS, must_exist=True):
                for crd in page.items:
                    group = crd["spec"]["group"]
                    if not groups or group in groups:
                        missing.discard(group)
                        definitions.write(_line(crd))
                        await _read_objects(server, crd, objects)
    except SourceError as error:
        raise BackupError(str(error)) from error
    except OSError as error:
        raise BackupError(f"{folder} cannot be written: {error.strerror}") from error
    if missing:
        raise BackupError(f"{server.origin} has no definition of {', '.join(sorted(missing))}")
    return members


async def _read_objects(server: ClusterConnection, crd: Object, file: BinaryIO) -> None:
    spec, name = crd["spec"], crd["metadata"]["name"]
    version = listed_version(crd)
    if version is None:
        raise BackupError(f"{name}: the server serves no version of it, so that its objects cannot be listed")
    head = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"]}
    collection = resource_path(spec["group"], version, spec["names"]["plural"])
    # others have never been served
    async for page in server.pages(collection, must_exist=is_true(crd, ESTABLISHED)):
        file.writelines(_line({"definition": name, "object": head | item}) for item in page.items)


def _line(document: Any) -> bytes:
    return json_codec.dumps(document, sort_keys=False) + b"\n"
