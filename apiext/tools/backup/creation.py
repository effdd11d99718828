"""Makes backups of stores and of servers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from apiext import __version__
from apiext.base.meta import time
from apiext.base.meta.encoding import json_codec
from apiext.storage.backups.stored_pairs import BackupError, check_finished, offset_of, summarize
from apiext.storage.backups.stores import MEMBERS
from apiext.tools.backup.archive_writer import work_folder, write_archive
from apiext.tools.backup.logical_pairs import LogicalPairs, is_established, listed_version
from apiext.tools.backup.manifest import DEFINITIONS_MEMBER, OBJECTS_MEMBER, BackupManifest
from apiext.tools.releases.cluster_connection import DEFINITIONS, resource_path
from apiext.tools.releases.interface import SourceError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path
    from typing import BinaryIO

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.backups.stored_pairs import StoredPairs
    from apiext.storage.backups.stores import WholeStore
    from apiext.tools.releases.cluster_connection import ClusterConnection

_NAME: Final = re.compile(r"apiext-\d{8}T\d{6}Z\.tar\.gz")


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
            async for page in server.pages(DEFINITIONS, must_exist=True):
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
    async for page in server.pages(collection, must_exist=is_established(crd)):
        file.writelines(_line({"definition": name, "object": head | item}) for item in page.items)


def _line(document: Any) -> bytes:
    return json_codec.dumps(document, sort_keys=False) + b"\n"


def target_file(given: Path, *, force: bool) -> Path:
    """Return the file of a new backup: the given one, or one named after the time in a given folder.

    Raises:
        BackupError: its folder is missing, or it exists and must not be replaced.
    """
    path = given
    if given.is_dir():
        path = given / f"apiext-{time.now().replace('-', '').replace(':', '')}.tar.gz"
    if not path.absolute().parent.is_dir():
        raise BackupError(f"{path.absolute().parent} is no folder")
    if path.exists() and not force:
        raise BackupError(f"{path} exists: --force replaces it")
    return path


def delete_older(folder: Path, keep: int, made: Path) -> list[Path]:
    """Delete all backups of a folder that are named after their times, except for the newest. Return the deleted ones.

    Never delete the one just made: others have later names if the clock was wrong.

    Raises:
        BackupError: one cannot be deleted.
    """
    try:
        named = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
        older = [path for path in named[: max(0, len(named) - keep)] if path.name != made.name]
        for path in older:
            path.unlink()
    except OSError as error:
        raise BackupError(f"old backups in {folder} cannot be deleted: {error.strerror}") from error
    return older


async def back_up_store(store: WholeStore, target: Path) -> BackupManifest:
    """Back up a whole store, also while servers use it. Every write that was acknowledged before is in the backup.

    Raises:
        BackupError: the store cannot be read, or the backup not be written.
    """
    begun = time.now()
    with work_folder(target) as folder:
        member = folder / MEMBERS[store.kind]
        pairs = await store.copy(member)
        try:
            check_finished(pairs)
            manifest = _manifest(begun, store.kind, str(store), store.prefix, pairs)
        finally:
            pairs.close()
        return write_archive(target, manifest, [member], folder)


async def back_up_server(server: ClusterConnection, groups: Collection[str], target: Path) -> BackupManifest:
    """Back up the objects of a server's definitions, those of some groups or all. The objects of a definition have one revision.

    Raises:
        BackupError: the server does not answer or refuses, or the backup cannot be written.
    """
    begun = time.now()
    with work_folder(target) as folder:
        members = await read_server(server, groups, folder)
        manifest = _manifest(begun, "server", server.origin, "", LogicalPairs(folder))
        return write_archive(target, manifest, members, folder)


def _manifest(begun: str, store: str, origin: str, prefix: str, pairs: StoredPairs) -> BackupManifest:
    found = summarize(pairs)
    return BackupManifest(
        time=begun,
        release=__version__,
        store=store,
        origin=origin,
        prefix=prefix,
        revision=pairs.revision + offset_of(pairs) if pairs.revision else 0,
        resources=found.resources,
        encrypted=found.encrypted,
    )
