"""All that a verb needs to know about the resource it serves (apiserver pkg/endpoints/handlers/rest.go, RequestScope)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from apiext.admission.attributes import Admission
from apiext.endpoints.handlers.options import FieldLabel
from apiext.endpoints.responsewriters.table import TableConvertor
from apiext.endpoints.serializers.negotiation import RESOURCE_OFFERS, Offers
from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.meta.json_codec import Object
from apiext.registry.protobuf import Message
from apiext.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions, Updater
from apiext.storage.interface import Item, ListOptions, ListResult, Watch, WatchOptions

if TYPE_CHECKING:
    from apiext.endpoints.handlers.open_watches import Watches

MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
CUSTOM_RESOURCE_PATCHES: Final = (JSON_PATCH, MERGE_PATCH)
"""Patches of custom resources. Server-side apply answers 415 for now, on which kubectl says that the server does not have it."""
BUILTIN_PATCHES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)
MAX_BODY: Final = 3 * 1024 * 1024


class Rest(Protocol):
    """The verbs behind an endpoint; a resource that lacks one has an endpoint without it (`Scope.verbs`)."""

    async def get(self, ctx: RequestContext, name: str, *, resource_version: str = "") -> Item:
        """One object."""
        ...

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Change an object; the result, and whether it was created."""
        ...


class CollectionRest(Rest, Protocol):
    """The verbs of a whole resource."""

    async def list(self, ctx: RequestContext, options: ListOptions) -> ListResult:
        """The objects of the request's namespace, or of all."""
        ...

    async def watch(self, ctx: RequestContext, options: WatchOptions, *, name: str = "") -> Watch:
        """Changes in the request's namespace, or in all; of one object if named."""
        ...

    async def create(self, ctx: RequestContext, obj: Object, options: CreateOptions) -> Item:
        """Store a new object."""
        ...

    async def delete(self, ctx: RequestContext, name: str, options: DeleteOptions) -> tuple[Item, bool]:
        """Delete an object or mark it; its last state, and whether it is gone."""
        ...

    async def delete_unreadable(self, ctx: RequestContext, name: str, *, dry_run: bool) -> None:
        """Remove an object that cannot be read; one that can be is left alone."""
        ...

    async def delete_collection(self, ctx: RequestContext, options: DeleteOptions, list_options: ListOptions) -> ListResult:
        """Delete all that a list gives; that list."""
        ...


class BodyCodec(Protocol):
    """Turns a parsed body into an object of the endpoint's kind."""

    def decode_body(self, obj: Object, report: bool) -> Sequence[str]:  # noqa: FBT001
        """Bring it into shape in place; messages of strict decoding, if asked for. Raises ValueError in the reference's words."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """One endpoint: a resource in a version, or a subresource of it."""

    kind: GroupVersionKind
    """What bodies are: the resource's kind, or autoscaling/v1 Scale."""
    resource: GroupVersionResource
    rest: CollectionRest
    codec: BodyCodec
    field_label: FieldLabel
    admission: Admission
    watches: Watches
    """Watches that end when what serves them goes."""
    subresource: str = ""
    namespaced: bool = True
    list_kind: str = ""
    typed: bool = False
    """Whether the kind is built in: bodies may leave out apiVersion and kind, lists leave out what is empty."""
    other_versions: Sequence[str] = ()
    """Versions in which a built-in kind is known too, but not served."""
    message: Message | None = None
    """How bodies in Protobuf are read, for kinds that clients send so."""
    package: str = ""
    """The reference's Go package of a built-in kind, as some of its errors name it."""
    table: TableConvertor | None = None
    null_rows: bool = False
    """Whether a table of nothing has null for rows, as from the reference's default convertor."""
    patch_types: Sequence[str] = CUSTOM_RESOURCE_PATCHES
    offers: Offers = RESOURCE_OFFERS
    returns_deleted: bool = False
    """Whether a delete is answered with the object also when it is gone."""
    strategic_keys: Mapping[str, str] = field(default_factory=dict)
    """Merge keys of lists by field, for strategic merge patches of built-in kinds."""
    max_body: int = MAX_BODY

    @property
    def api_version(self) -> str:
        """The apiVersion of bodies."""
        return self.kind.api_version

    @property
    def is_namespaces(self) -> bool:
        """Whether the resource is namespaces themselves, whose requests name a namespace that their objects do not have."""
        return self.resource.group == "" and self.resource.resource == "namespaces"
