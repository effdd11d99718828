"""Loads the files of a plug-in into the index of configurations, and loads them again when they change.

Mirrors apiserver pkg/admission/plugin/webhook/manifest/source and plugin/policy/manifest/source.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from apiext.api.serving.static_manifests.manifest_files import ManifestError, read_manifests
from apiext.api.serving.static_manifests.manifest_objects import manifest_objects
from apiext.base.meta.log import get_logger
from apiext.resources.definitions.sources.directory import watch_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from apiext.api.admission.configuration.followed import FollowedObjects
    from apiext.api.serving.static_manifests.reload_stats import ReloadStats
    from apiext.base.meta.encoding.json_codec import Object

_LOG: Final = get_logger(__name__)
_RETRY_SECONDS: Final = 5.0


class StaticSource:
    """The files of one plug-in."""

    def __init__(self, plugin: str, folder: Path, followers: Mapping[str, FollowedObjects], stats: ReloadStats) -> None:
        self._plugin = plugin
        self._folder = folder
        self._followers = followers
        self._stats = stats
        self._digest = ""

    async def load(self) -> None:
        """Load the files.

        Raises:
            ManifestError: the files cannot be used.
        """
        digest, objects = await asyncio.to_thread(self._read)
        self._take(digest, objects)

    async def follow(self) -> None:
        """Load the files again when they change, until cancelled. Files that cannot be used change nothing."""
        while True:
            try:
                async for changed in watch_folder(self._folder):
                    if changed:
                        await self._reload()
            except OSError as error:
                _LOG.warning("manifest folder watch failed, retrying", folder=str(self._folder), error=str(error))
            except Exception:  # noqa: BLE001 -- the folder must be watched while the server runs
                _LOG.exception("manifest folder watch failed, retrying", folder=str(self._folder))
            await asyncio.sleep(_RETRY_SECONDS)

    async def _reload(self) -> None:
        try:
            digest, objects = await asyncio.to_thread(self._read)
        except ManifestError as error:
            _LOG.error("invalid admission manifests", plugin=self._plugin, folder=str(self._folder), error=str(error))
            self._stats.fail(self._plugin)
            return
        if digest != self._digest:
            self._take(digest, objects)

    def _read(self) -> tuple[str, dict[str, list[Object]]]:
        manifests = read_manifests(self._folder)
        return manifests.digest, manifest_objects(self._plugin, manifests)

    def _take(self, digest: str, objects: dict[str, list[Object]]) -> None:
        self._digest = digest
        for plural, found in objects.items():
            self._followers[plural].replaced(found)
        number = sum(map(len, objects.values()))
        _LOG.info("admission manifests loaded", plugin=self._plugin, folder=str(self._folder), objects=number)
        self._stats.succeed(self._plugin, digest)
