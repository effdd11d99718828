"""Attributes of a write, and the interface of admission plug-ins (apiserver pkg/admission/attributes.go and interfaces.go)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

from apiext.api.admission.object_interfaces import EquivalentResource, ObjectInterfaces
from apiext.api.admission.sources import NO_PLACE, AdmissionSources, RequestPlace
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import AdmissionOperation, UserInfo


@dataclass(slots=True)
class PluginReinvocation:
    """Which calls of a mutating plug-in run again (reinvocationcontext.go of apiserver's mutating webhooks and policies)."""

    due: set[Hashable] = field(default_factory=set)
    """Keys of the calls that run again."""
    _called: set[Hashable] = field(default_factory=set)
    """Keys of the calls that run again if the object changes after them."""
    _output: Object | None = None
    """The object after the first run; kept only if a call may run again."""

    def called(self, key: Hashable) -> None:
        """Note a call that runs again if the object changes after it."""
        self._called.add(key)

    def object_changed(self) -> None:
        """Let the calls before a change of the object run again."""
        self.due |= self._called
        self._called = set()

    def begin_second_run(self, new: Object | None) -> None:
        """Take the object at the beginning of the second run: other plug-ins may have changed it."""
        if self._called and not json_values.equal(self._output, new):
            self.object_changed()

    def end_run(self, new: Object | None) -> None:
        """Take the object at the end of a run."""
        self._output = json_values.copy(new) if self._called else None


@dataclass(slots=True)
class Reinvocation:
    """What plug-ins need to run a second time in one mutation (apiserver pkg/admission, ReinvocationContext)."""

    runs_again: bool = False
    """Whether this is the second run."""
    is_required: bool = False
    """Whether a plug-in has changed the object so that the chain must run again."""
    _plugins: dict[str, PluginReinvocation] = field(default_factory=dict)

    def of(self, plugin: str) -> PluginReinvocation:
        """Return the state of a plug-in."""
        return self._plugins.setdefault(plugin, PluginReinvocation())


@dataclass(slots=True)
class Attributes:
    """One write. Mutating plug-ins change `new` in place or replace it; `old` is never changed."""

    operation: AdmissionOperation
    kind: GroupVersionKind
    resource: GroupVersionResource
    user: UserInfo
    subresource: str = ""
    namespace: str = ""
    """The namespace of the request; for namespaces themselves, their name."""
    name: str = ""
    """Empty before the server generates a name, and for a deletecollection."""
    new: Object | None = None
    """The new object; None for a delete."""
    old: Object | None = None
    """The stored object; None for a create. A delete has at least apiVersion, kind and metadata."""
    dry_run: bool = False
    options: Callable[[], Object] | None = None
    """Returns the options of the operation as an object of meta.k8s.io/v1, such as CreateOptions."""
    objects: ObjectInterfaces | None = None
    """What plug-ins may do with objects of the resource; None for writes that only built-in plug-ins see."""
    warnings: list[str] = field(default_factory=list)
    """Messages for Warning headers; plug-ins append to them."""
    annotations: dict[str, str] = field(default_factory=dict)
    """Annotations of the audit event by qualified key; the first value of a key stays."""
    shows_patches: bool = False
    """Whether the audit event includes the patches of webhooks."""
    latencies: dict[str, float] = field(default_factory=dict)
    """Seconds that webhooks have taken, by `mutating-webhook` (their sum) and `validating-webhook` (the longest)."""
    deadline: float = math.inf
    """The end of the request's time as `time.monotonic`."""
    reinvocation: Reinvocation = field(default_factory=Reinvocation)
    place: RequestPlace = NO_PLACE
    """The place by which configurations are found; that of the members above by default."""
    own_resource: EquivalentResource = field(init=False)
    """The resource and the kind of the request."""

    def __post_init__(self) -> None:
        self.own_resource = EquivalentResource(self.resource, self.kind)
        if self.place is NO_PLACE:
            self.place = RequestPlace(self.resource.group, self.resource.resource, self.subresource, self.operation)

    @property
    def object_name(self) -> str:
        """The name for error messages: generateName until the server has generated a name."""
        if self.name:
            return self.name
        metadata = (self.new or {}).get("metadata") or {}
        return str(metadata.get("name") or metadata.get("generateName") or "Unknown")


def not_ready(attributes: Attributes) -> errors.StatusError:
    """Return the answer (403) to writes before all configurations and namespaces are known (apiserver pkg/admission, NewForbidden)."""
    return errors.forbidden(attributes.resource.group_resource, attributes.object_name, "not yet ready to handle request")


class Admission:
    """One plug-in, or a chain of them. The base class admits everything.

    A plug-in for one of the two phases leaves the other method as it is.
    """

    name = ""
    """The plug-in's name in flags and metrics."""
    operations = frozenset(AdmissionOperation)

    def handles(self, operation: AdmissionOperation) -> bool:
        """Return whether admission applies to an operation."""
        return operation in self.operations

    def sees(self, phase: str, place: RequestPlace) -> bool:
        """Return whether a plug-in needs the attributes of a request in a phase (`admit` or `validate`)."""
        del phase
        return self.handles(place.operation)

    def admits_unseen(self, phase: str, place: RequestPlace) -> bool:
        """Admit a request in a phase without its attributes, if no plug-in needs them. Return whether it did."""
        return not self.sees(phase, place)

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object of a write.

        Raises:
            StatusError: the write is rejected.
        """

    async def validate(self, attributes: Attributes) -> None:
        """Validate a write after all mutations.

        Raises:
            StatusError: the write is rejected.
        """

    @property
    def dynamic(self) -> DynamicPart | None:
        """Return the part that webhooks and policies configure; jobs in worker processes have a copy of it. None without such a part."""
        return None

    def in_server(self) -> Admission:
        """Return the rest, which jobs in worker processes leave to the server. It reads names and namespaces only."""
        return self


class DynamicPart(Protocol):
    """The plug-ins of webhooks and policies."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the enabled plug-ins."""
        ...

    @property
    def sources(self) -> AdmissionSources:
        """Return what the plug-ins need."""
        ...

    def import_used(self) -> None:
        """Import the plug-ins that have configurations, for the first write that one applies to."""
        ...

    def may_apply(self, place: RequestPlace) -> bool:
        """Return whether a webhook or a policy may match requests at a place, and so needs the objects."""
        ...
