"""Paths of this server that are no part of a Kubernetes API."""

from __future__ import annotations

from typing import Final

VERSION_MAP: Final = "/apiext/versions"
"""The page that shows the versions of all definitions."""
VERSION_MAP_DATA: Final = f"{VERSION_MAP}/data"
"""Its data, complete."""
VERSION_MAP_EVENTS: Final = f"{VERSION_MAP}/events"
"""Its changes, as a response that lasts as long as a watch."""
