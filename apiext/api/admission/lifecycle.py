"""Rejects creates in missing and terminating namespaces, and the deletion of system namespaces.

Mirrors apiserver pkg/admission/plugin/namespace/lifecycle.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

from apiext.api.admission.attributes import Admission, Attributes, not_ready
from apiext.api.admission.sources import NotReadyError
from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.request import AdmissionOperation

IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_NAMESPACES: Final = GroupResource("", "namespaces")
_TERMINATING: Final = "Terminating"
_FORCE_LIVE: Final = 30.0
"""Seconds after its deletion during which lookups of a namespace are live (upstream forceLiveLookupTTL)."""


class NamespacePhase(Protocol):
    """Returns the phase of a namespace."""

    async def __call__(self, name: str, *, live: bool) -> str | None:
        """Return the phase, None for a missing namespace; `live` bypasses the cache.

        Raises:
            NotReadyError: the namespaces have not been listed yet.
        """
        ...


class NamespaceLifecycle(Admission):
    """Rejects creates in missing (404) and terminating (403) namespaces, and the deletion of system namespaces (403)."""

    name = "NamespaceLifecycle"
    operations = frozenset({AdmissionOperation.CREATE, AdmissionOperation.DELETE})

    def __init__(self, phase: NamespacePhase, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._phase = phase
        self._clock = clock
        self._force_live: dict[str, float] = {}

    async def admit(self, attributes: Attributes) -> None:
        """Reject a create in a missing or terminating namespace, and the deletion of a system namespace.

        Raises:
            StatusError: 404 for a missing namespace, 403 for a terminating one and for the deletion of a system namespace.
        """
        if attributes.kind.group == "" and attributes.kind.kind == "Namespace":
            self._admit_namespace(attributes)
        elif attributes.operation == AdmissionOperation.CREATE and attributes.namespace:
            await self._admit_content(attributes)

    def _admit_namespace(self, attributes: Attributes) -> None:
        if attributes.operation != AdmissionOperation.DELETE:
            return
        if attributes.name in IMMORTAL:
            raise errors.forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")
        now = self._clock()
        self._force_live = {name: until for name, until in self._force_live.items() if until > now}
        self._force_live[attributes.name] = now + _FORCE_LIVE

    async def _admit_content(self, attributes: Attributes) -> None:
        name = attributes.namespace
        try:
            phase = await self._phase(name, live=False)
        except NotReadyError as error:
            raise not_ready(attributes) from error
        if phase is None or (phase != _TERMINATING and self._force_live.get(name, 0.0) > self._clock()):
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
