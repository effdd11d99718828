"""Flow control by the FlowSchemas and PriorityLevelConfigurations of another server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from apiext.api.flowcontrol.configuration.bootstrap import API_VERSION
from apiext.api.flowcontrol.configuration.configuration import configuration_steps
from apiext.base.scheduling.time_slice import in_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from apiext.api.flowcontrol.flow_control import FlowControl
    from apiext.base.meta.encoding.json_codec import Object

FLOW_SCHEMAS: Final = f"/apis/{API_VERSION}/flowschemas"
PRIORITY_LEVELS: Final = f"/apis/{API_VERSION}/prioritylevelconfigurations"


class HostCollection:
    """The objects of one kind by name: a Follower of base/webhook/reflector.py."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self.objects: dict[str, Object] | None = None
        """None before the first list."""
        self._notify = notify

    def replaced(self, objects: Sequence[Object]) -> None:
        """Replace all objects."""
        self.objects = {_name(found): found for found in objects}
        self._notify()

    def changed(self, found: Object) -> None:
        """Add or update an object."""
        found = strip(found)
        if self.objects is not None:
            known = self.objects.get(_name(found))
            if known is None or known["metadata"] != found["metadata"]:
                self.objects[_name(found)] = found
                self._notify()

    def deleted(self, found: Object) -> None:
        """Remove an object."""
        if self.objects is not None and self.objects.pop(_name(found), None) is not None:
            self._notify()


class HostObjects:
    """Configures flow control with the objects of both kinds, once both are listed."""

    def __init__(self, control: FlowControl) -> None:
        self._control = control
        self._dirty = asyncio.Event()
        self.schemas = HostCollection(self._dirty.set)
        self.levels = HostCollection(self._dirty.set)

    async def run(self) -> None:
        """Apply changes until cancelled."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            schemas, levels = self.schemas.objects, self.levels.objects
            if schemas is not None and levels is not None:
                self._control.configure(await in_slices(configuration_steps(list(schemas.values()), list(levels.values()))))


def strip(found: Mapping[str, Any]) -> Object:
    """Return an object reduced to kind, name, uid, spec, and generation."""
    metadata = found.get("metadata") or {}
    kept = {key: metadata.get(key, "") for key in ("name", "uid", "generation")}
    return {"kind": found.get("kind", ""), "metadata": kept, "spec": found.get("spec")}


def _name(found: Object) -> str:
    return str((found.get("metadata") or {}).get("name", ""))
