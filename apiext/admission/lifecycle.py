"""Nothing is created in a namespace that is missing or on its way out, and some namespaces stay for ever.

Mirrors apiserver pkg/admission/plugin/namespace/lifecycle.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from apiext.admission.attributes import CREATE, DELETE, Attributes, Plugin
from apiext.meta import errors
from apiext.meta.gvk import GroupResource

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_NAMESPACES: Final = GroupResource("", "namespaces")
_TERMINATING: Final = "Terminating"
_DISTRUST: Final = 30.0
"""Seconds after its deletion in which a namespace's cached state is not believed."""


class NotReadyError(Exception):
    """Nothing is known of namespaces yet."""


class NamespacePhase(Protocol):
    """Looks a namespace up."""

    async def __call__(self, name: str, *, live: bool) -> str | None:
        """Its phase, None when there is none; `live` asks for the most recent state instead of a cached one. Raises NotReadyError."""
        ...


class NamespaceLifecycle(Plugin):
    """Refuses creates in missing (404) and terminating (403) namespaces, and the deletion of namespaces that must stay."""

    NAME: Final = "NamespaceLifecycle"
    operations = frozenset({CREATE, DELETE})

    def __init__(self, phase: NamespacePhase, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._phase = phase
        self._clock = clock
        self._distrusted: dict[str, float] = {}

    async def admit(self, attributes: Attributes) -> None:
        """Raises StatusError as the class says."""
        if attributes.kind.group == "" and attributes.kind.kind == "Namespace":
            self._admit_namespace(attributes)
        elif attributes.operation == CREATE and attributes.namespace:
            await self._admit_content(attributes)

    def _admit_namespace(self, attributes: Attributes) -> None:
        if attributes.operation != DELETE:
            return
        if attributes.name in IMMORTAL:
            raise errors.forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")
        now = self._clock()
        self._distrusted = {name: until for name, until in self._distrusted.items() if until > now}
        self._distrusted[attributes.name] = now + _DISTRUST

    async def _admit_content(self, attributes: Attributes) -> None:
        name = attributes.namespace
        try:
            phase = await self._phase(name, live=False)
        except NotReadyError as error:
            why = "not yet ready to handle request"
            raise errors.forbidden(attributes.resource.group_resource, attributes.object_name, why) from error
        if phase is None or (phase != _TERMINATING and self._distrusted.get(name, 0.0) > self._clock()):
            phase = await self._phase(name, live=True)
        if phase is None:
            raise errors.not_found(_NAMESPACES, name)
        if phase == _TERMINATING:
            raise _terminating(attributes)


def _terminating(attributes: Attributes) -> errors.StatusError:
    name = attributes.namespace
    error = errors.forbidden(
        attributes.resource.group_resource,
        attributes.object_name,
        f"unable to create new content in namespace {name} because it is being terminated",
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    error.details = (error.details or {}) | {"causes": [cause]}
    return error
