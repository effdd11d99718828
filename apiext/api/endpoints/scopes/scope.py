"""The properties of an endpoint that its verbs use (apiserver pkg/endpoints/handlers/rest.go, RequestScope)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, TypeVarTuple

from apiext.api.admission.attributes import Admission
from apiext.api.endpoints.responsewriters.shared_encodings import SharedEncodings
from apiext.api.endpoints.scopes.dialect import Dialect
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.endpoints.scopes.write_call import WriteCall
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.resources.managedfields.field_manager import FieldManager
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions, Updater
from apiext.storage.interface import Item, ListOptions, ListResult, Watch, WatchOptions

if TYPE_CHECKING:
    from apiext.api.admission.object_interfaces import ObjectInterfaces
    from apiext.api.endpoints.scopes.unchanging_writes import UnchangingWrites
    from apiext.base.workers.pool import WorkerPool
    from apiext.base.workers.server_link import ServerLink

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class CollectionRest(Protocol):
    """The verbs of a resource. All of them raise StatusError. A subresource has `get` and `update` only."""

    async def get(self, ctx: RequestContext, name: str, *, resource_version: str = "") -> Item:
        """Return an object."""
        ...

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Update an object. Return the result and whether it was created."""
        ...

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """List the objects of the request's namespace, or of all namespaces."""
        ...

    async def watch(self, ctx: RequestContext, options: WatchOptions) -> Watch:
        """Watch the objects of the request's namespace, or of all namespaces."""
        ...

    async def create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        """Create an object."""
        ...

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object or mark it as terminating. Return its last state and whether it was removed."""
        ...

    async def delete_unreadable(self, ctx: RequestContext, name: str, *, dry_run: bool) -> None:
        """Remove an object that can not be read. Reject one that can."""
        ...

    async def delete_collection(self, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
        """Delete the listed objects and return the list."""
        ...


Execute = Callable[["Scope", WriteCall], Awaitable[T]]
"""Executes a write in a scope. A function of a module."""


class ScopeCopies(Protocol):
    """The copies of a resource's scopes in worker processes."""

    async def run(self, workers: WorkerPool, execute: Execute[T], call: WriteCall) -> T:
        """Execute a write in a worker process.

        Raises:
            StatusError: the write failed, or the process did.
        """
        ...

    async def inspect(
        self, workers: WorkerPool, function: Callable[[ServerLink, Any, *Ts], Coroutine[Any, Any, T]], *args: *Ts, user: str
    ) -> T:
        """Run a function of a module in a worker process, on behalf of a user. It gets the place of the copies.

        Raises:
            Exception: what the function raised.
        """
        ...


class BodyCodec(Protocol):
    """Decodes parsed bodies to objects of the endpoint's kind."""

    @property
    def cbor(self) -> bool:
        """Whether objects are stored in CBOR, which has integers and floats as types."""
        ...

    def decode_body(self, obj: Object, report: bool) -> Sequence[str]:  # noqa: FBT001
        """Decode in place. Return the messages of strict decoding if `report` is set.

        Raises:
            ValueError: the object can not be decoded; the text is the reference's.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One endpoint: a resource in a version, or one of its subresources."""

    kind: GroupVersionKind
    """The kind of bodies: the resource's kind, or autoscaling/v1 Scale."""
    resource: GroupVersionResource
    rest: CollectionRest
    codec: BodyCodec
    fields: FieldManager
    """The field manager: it writes metadata.managedFields."""
    admission: Admission
    dialect: Dialect
    watches: Watches
    """Open watches of the endpoint."""
    objects: ObjectInterfaces | None = None
    """What plug-ins may do with the endpoint's objects; None for endpoints whose writes webhooks and policies do not see."""
    subresource: str = ""
    converts: bool = False
    """Whether objects are stored in another version, so that those that are read lack defaults of this one."""
    encodings: SharedEncodings = field(default_factory=SharedEncodings)
    """The lists that are being sent."""
    unchanging: UnchangingWrites | None = None
    """Writes that are known to change nothing; None where that is not known."""
    remote: ScopeCopies | None = None
    """The copies of this endpoint in worker processes; None for a copy."""

    @property
    def api_version(self) -> str:
        """Return the apiVersion of bodies."""
        return self.kind.api_version

    @property
    def is_namespaces(self) -> bool:
        """Return whether the resource is namespaces: its requests have a namespace, its objects do not."""
        return self.resource.group == "" and self.resource.resource == "namespaces"
