"""An informer for the objects of one kind that are parameters of policies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from apiext.api.admission.packed_objects import pack, unpack
from apiext.api.admission.sources import NotReadyError
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.selector_parser import parse_label_selector
from apiext.base.scheduling.time_slice import Pace, paced

READY_WAIT: Final = 1.0
"""Seconds to wait for the first list (upstream CollectParams)."""
_MAX_SELECTIONS: Final = 64
"""Results of selectors that are kept until an object changes."""


class ParamInformer:
    """Objects by namespace and name: a Follower of base/webhook/reflector.py. `typed` objects have no apiVersion and kind."""

    def __init__(self, *, typed: bool, ready_wait: float = READY_WAIT) -> None:
        self._typed = typed
        self._ready_wait = ready_wait
        self._objects: dict[str, dict[str, tuple[Mapping[str, str], bytes]]] = {}
        """Labels and JSON by namespace and name; objects without a namespace have an empty one."""
        self._selections: dict[tuple[str, str], Sequence[bytes]] = {}
        """Results of selectors on the present objects."""
        self._listed = asyncio.Event()

    @property
    def synced(self) -> bool:
        """Whether the first list is complete."""
        return self._listed.is_set()

    def replaced(self, objects: Sequence[dict[str, Any]]) -> None:
        """Replace all objects."""
        self._objects = {}
        for found in objects:
            self._put(found)
        self._selections = {}
        self._listed.set()

    def changed(self, found: dict[str, Any]) -> None:
        """Add or update an object."""
        self._put(found)
        self._selections = {}

    def deleted(self, found: dict[str, Any]) -> None:
        """Remove an object."""
        namespace, name = _key(found)
        self._objects.get(namespace, {}).pop(name, None)
        self._selections = {}

    async def wait_until_listed(self) -> None:
        """Wait for the first list.

        Raises:
            NotReadyError: it is not complete in time.
        """
        if self._listed.is_set():
            return
        try:
            async with asyncio.timeout(self._ready_wait):
                await self._listed.wait()
        except TimeoutError as error:
            raise NotReadyError from error

    def get(self, namespace: str, name: str) -> Object | None:
        """Return an object, None for one that no event has shown."""
        found = self._objects.get(namespace, {}).get(name)
        return None if found is None else unpack(found[1])

    async def select(self, namespace: str, selector: str) -> list[Object]:
        """Return the objects that a label selector matches, by namespace and name; those of all namespaces for an empty one."""
        key = (namespace, selector)
        selections = self._selections
        found = selections.get(key)
        if found is None:
            found = await self._matching(namespace, selector)
            # a change meanwhile has replaced the dictionary
            while len(selections) >= _MAX_SELECTIONS:
                del selections[next(iter(selections))]
            selections[key] = found
        return [unpack(one) async for one in paced(found)]

    async def _matching(self, namespace: str, selector: str) -> list[bytes]:
        matches, pace = parse_label_selector(selector).matches, Pace()
        matching: list[tuple[str, str, bytes]] = []
        for chosen in [namespace] if namespace else list(self._objects):
            for name, (labels, packed) in list(self._objects.get(chosen, {}).items()):
                if matches(labels):
                    matching.append((chosen, name, packed))
                await pace.checkpoint()
        return [packed for _namespace, _name, packed in sorted(matching)]

    def _put(self, found: Mapping[str, Any]) -> None:
        namespace, name = _key(found)
        labels = (found.get("metadata") or {}).get("labels") or {}
        self._objects.setdefault(namespace, {})[name] = labels, pack(found, typed=self._typed)


def _key(found: Mapping[str, Any]) -> tuple[str, str]:
    metadata = found.get("metadata") or {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name", ""))
