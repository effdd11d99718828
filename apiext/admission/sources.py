"""What webhooks and policies are about, and where plug-ins get them from.

A server answers from its informers; a job in a worker process asks the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from apiext.meta.encoding.json_codec import Object
from apiext.meta.request import AdmissionOperation


class NotReadyError(Exception):
    """The objects of an informer have not been listed yet, and a write must not wait longer for them."""


class AdmissionPhase(StrEnum):
    """The two phases of admission."""

    MUTATING = "mutating"
    VALIDATING = "validating"


@dataclass(frozen=True, slots=True)
class RequestPlace:
    """The part of a write by which configurations are indexed: rules with other groups, resources or operations do not match it.

    Versions are left out, since equivalent resources differ in them.
    """

    group: str
    resource: str
    subresource: str
    operation: AdmissionOperation


@dataclass(frozen=True, slots=True)
class Revision:
    """The state of a configuration or policy: what is made of equal ones is equal."""

    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True, eq=False)
class HookEntry:
    """A webhook of a configuration."""

    revision: Revision
    """That of its configuration."""
    configuration: str
    """The configuration's name."""
    uid: str
    """Configuration, webhook and the number among webhooks of this name (upstream WebhookAccessor.GetUID)."""
    hook: Mapping[str, Any] = field(repr=False)
    """The webhook as stored, with defaults."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicyEntry:
    """A policy with its bindings."""

    policy: Object = field(repr=False)
    bindings: Sequence[Object] = field(repr=False)
    """In the order of their names."""


class ConfigurationSource(Protocol):
    """Configurations of admissionregistration.k8s.io."""

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        """Return the webhooks with a rule that may match, by the names of configurations, then in their order; those of files first.

        Raises:
            NotReadyError: the configurations have not been listed in time.
        """
        ...

    async def policies(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[PolicyEntry]:
        """Return the policies with bindings whose constraints may match, by name; those of files first.

        Raises:
            NotReadyError: the policies have not been listed in time.
        """
        ...


class NamespaceSource(Protocol):
    """Namespaces, for selectors and expressions."""

    async def namespace(self, name: str) -> Object | None:
        """Return a namespace, None for a missing one. A namespace that an informer does not know is looked up.

        Raises:
            NotReadyError: the namespaces have not been listed in time.
            StatusError: the lookup failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class ParamQuery:
    """Asks for the parameters of a binding: one by name, or all that a selector matches."""

    api_version: str
    kind: str
    namespace: str
    """Empty for all namespaces, and for kinds without."""
    name: str = ""
    selector: str = ""
    """A label selector as text. Without name and selector, all objects."""


class ParamSource(Protocol):
    """Parameters of policies: ConfigMaps and custom resources."""

    async def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        """Return the scope of a kind that parameters may have, None for an unknown kind.

        Raises:
            StatusError: discovery failed.
        """
        ...

    async def params(self, query: ParamQuery) -> Sequence[Object]:
        """Return the objects, by namespace and name. They may be as stale as an informer's.

        Raises:
            NotReadyError: they have not been listed in time.
            StatusError: they cannot be read.
        """
        ...
