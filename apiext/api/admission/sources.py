"""What webhooks and policies are about, and where plug-ins get them from.

A server answers from its informers; a job in a worker process asks the server.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

from apiext.api.admission.metrics import AdmissionStats
from apiext.api.authorization.authorizer import Verdict
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.request import AdmissionOperation, RequestInfo, UserInfo


class NotReadyError(Exception):
    """The objects of an informer have not been listed yet, and a write must not wait longer for them."""


class AdmissionPhase(StrEnum):
    """The two phases of admission."""

    MUTATING = "mutating"
    VALIDATING = "validating"


ALL_PHASES: Final = frozenset(AdmissionPhase)


class RequestPlace(NamedTuple):
    """The part of a write by which configurations are indexed: rules with other groups, resources or operations do not match it.

    Versions are left out, since equivalent resources differ in them.
    """

    group: str
    resource: str
    subresource: str
    operation: AdmissionOperation


NO_PLACE: Final = RequestPlace("", "", "", AdmissionOperation.CREATE)


@dataclass(frozen=True, slots=True)
class Revision:
    """The state of a configuration or policy: what is made of equal ones is equal."""

    uid: str
    resource_version: str


@dataclass(slots=True, eq=False, weakref_slot=True)
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
    phase: AdmissionPhase = AdmissionPhase.VALIDATING
    number: int = 0
    """Its number among all webhooks of the phase, which changes with the configurations before it."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PolicyEntry:
    """A policy with its bindings."""

    policy: Object = field(repr=False)
    bindings: Sequence[Object] = field(repr=False)
    """In the order of their names."""


class ConfigurationSource(Protocol):
    """Configurations of admissionregistration.k8s.io."""

    def phases(self, place: RequestPlace) -> Collection[AdmissionPhase]:
        """Return the phases in which a webhook or a policy may match requests at a place, all if that is not known yet."""
        ...

    def is_used(self, phase: AdmissionPhase, *, webhooks: bool) -> bool:
        """Return whether there are webhooks in a phase, or policies, as far as is known."""
        ...

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        """Return the webhooks with a rule that may match, by the names of configurations, then in their order; those of files first.

        For resources that configure admission, return only webhooks of files.

        Raises:
            NotReadyError: the configurations have not been listed in time.
        """
        ...

    async def policies(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[PolicyEntry]:
        """Return the policies with bindings whose constraints may match, by name; those of files first.

        For policies and their bindings, return only policies of files.

        Raises:
            NotReadyError: the policies have not been listed in time.
        """
        ...


@dataclass(frozen=True, slots=True)
class ReviewCall:
    """A call of a webhook with an AdmissionReview."""

    hook: HookEntry
    key: Hashable
    """Equal for the same call in another attempt at the write: all that tells it from other calls of the attempt. The uid is no part."""
    uid: str
    """The uid of the request in the body."""
    body: bytes = field(repr=False)
    """The AdmissionReview in JSON."""
    deadline: float
    """When the answer must be there, as `time.monotonic`."""


@dataclass(frozen=True, slots=True)
class ReviewAnswer:
    """What a webhook has answered."""

    uid: str
    """The uid of the request that it answers: another than that of the call if an earlier attempt at the write made the call."""
    data: bytes = field(default=b"", repr=False)
    error: Exception | None = None
    """Why there is no answer. It can be sent to another process."""
    seconds: float = 0.0
    """How long the call took."""


class ReviewCaller(Protocol):
    """Calls webhooks from the server. A write that starts again gets the answers of its earlier attempt."""

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Call webhooks at the same time, and return their answers or errors in the order of the calls.

        Raises:
            StatusError: 429, if too many calls wait for a webhook that does not answer.
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


class AccessSource(Protocol):
    """Decides what users may do, for expressions."""

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Implement authorization.authorizer.Authorize.

        Raises:
            ReviewError: the decision failed.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class AdmissionSources:
    """What the plug-ins of webhooks and policies need. They get all of it as the only argument of their constructors."""

    configurations: ConfigurationSource
    namespaces: NamespaceSource
    params: ParamSource
    reviews: ReviewCaller
    access: AccessSource
    stats: AdmissionStats
