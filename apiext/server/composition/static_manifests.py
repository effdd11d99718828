"""Composition of webhook configurations and policies from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.serving.static_manifests.static_source import ManifestError, ReloadStats, StaticSource
from apiext.base.scheduling.tasks import run_until_closed
from apiext.server.start_error import StartError
from apiext.storage.replicas.identity_lease import server_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AsyncExitStack
    from pathlib import Path

    from apiext.api.admission.configuration.index import FollowedObjects


async def load_static_manifests(
    folders: Mapping[str, Path], followers: Mapping[str, FollowedObjects], url: str, stack: AsyncExitStack
) -> ReloadStats:
    """Load the files of plug-ins, and load them again when they change until `stack` closes. Return the counts of loads.

    Raises:
        StartError: files cannot be used.
    """
    stats = ReloadStats(server_id(url))
    for plugin, folder in sorted(folders.items()):
        source = StaticSource(plugin, folder, followers, stats)
        try:
            await source.load()
        except ManifestError as error:
            what = "webhook" if plugin.endswith("Webhook") else "policy"
            raise StartError(f"failed to load static {what} manifests from {str(folder)!r}: {error}") from error
        run_until_closed(stack, source.follow())
    return stats
