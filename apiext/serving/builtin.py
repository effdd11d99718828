"""Built-in kinds through the same endpoints as custom resources: namespaces, events, and definitions themselves.

Mirrors apiserver pkg/endpoints/installer.go (which routes a resource has) and what go-restful answers to other ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aiohttp import web

from apiext.definitions.codec import CRDCodec
from apiext.endpoints.handlers.options import FieldLabel, meta_field_label
from apiext.endpoints.handlers.scope import BUILTIN_PATCHES, Scope
from apiext.endpoints.handlers.strategic_merge import OBJECT_META_KEYS
from apiext.endpoints.request import INFO
from apiext.endpoints.responsewriters.table import TableConvertor
from apiext.endpoints.serializers.negotiation import BUILTIN_OFFERS, UNTABLED_OFFERS, check_route
from apiext.meta import errors
from apiext.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS, EVENTS, NAMESPACES, BuiltinResource
from apiext.meta.gvk import GroupVersionResource
from apiext.registry.core_types import EVENT_WIRE, NAMESPACE_WIRE
from apiext.registry.customresourcedefinition import CustomResourceDefinitionRest, CustomResourceDefinitionStatusStrategy
from apiext.registry.customresourcedefinition_protobuf import DEFINITION_WIRE
from apiext.registry.event import EventRest, event_codec
from apiext.registry.namespace import (
    NamespaceFinalizeStrategy,
    NamespaceRest,
    NamespaceStatusStrategy,
    namespace_codec,
)
from apiext.serving.builtin_printers import DEFINITION_COLUMNS, EVENT_COLUMNS, NAMESPACE_COLUMNS
from apiext.serving.verbs import RESOURCE_VERBS

if TYPE_CHECKING:
    from apiext.admission.attributes import Admission
    from apiext.definitions.controllers import Controllers
    from apiext.endpoints.handlers.open_watches import Watches
    from apiext.meta.request import RequestInfo
    from apiext.serving.cache import Stores
    from apiext.storage.interface import Store

_NOT_ALLOWED: Final = "the server does not allow this method on the requested resource"
_PRODUCED: Final = BUILTIN_OFFERS.named
_LISTED: Final = (*BUILTIN_OFFERS.named, *BUILTIN_OFFERS.named_streams)
"""What go-restful has routes for; the reference writes built-in kinds in all of these."""
_STREAMED: Final = frozenset({"list", "watch"})
_COLLECTION: Final = frozenset({"list", "watch", "create", "deletecollection"})
_NAMESPACE_LABELS: Final = frozenset({"metadata.name", "status.phase", "name"})
_EVENT_LABELS: Final = frozenset(
    {
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
        "metadata.namespace",
        "metadata.name",
    }
)


@dataclass(frozen=True, slots=True)
class BuiltinEndpoint:
    """A built-in resource with what serves it and its subresources."""

    resource: BuiltinResource
    scopes: Mapping[str, Scope]
    """By subresource; "" is the resource itself."""


class BuiltinEndpoints:
    """Answers requests for built-in kinds."""

    def __init__(self, endpoints: Iterable[BuiltinEndpoint]) -> None:
        self._by_resource: dict[GroupVersionResource, BuiltinEndpoint] = {endpoint.resource.resource: endpoint for endpoint in endpoints}
        self._groups = frozenset(resource.group for resource in self._by_resource)

    def serves(self, info: RequestInfo) -> bool:
        """Whether a request is for one of the built-in groups."""
        return info.group in self._groups and (info.api_prefix == "api") == (not info.group)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer. Raises StatusError: 404 for a resource that there is not, 405 for a verb that it does not have."""
        info = request[INFO]
        endpoint = self._by_resource.get(GroupVersionResource(info.group, info.version, info.resource))
        scope = endpoint.scopes.get(info.subresource) if endpoint else None
        if endpoint is None or scope is None or (info.namespace and not scope.namespaced and not scope.is_namespaces):
            raise errors.path_not_found()
        if not _has_route(request, info, endpoint.resource):
            raise errors.StatusError(405, "MethodNotAllowed", _NOT_ALLOWED, {})
        check_route(request, _LISTED if info.verb in _STREAMED else _PRODUCED)
        return await RESOURCE_VERBS[info.verb](request, scope)


def _has_route(request: web.BaseRequest, info: RequestInfo, resource: BuiltinResource) -> bool:
    verbs: Sequence[str] = resource.verbs
    if info.subresource:
        subresource = resource.subresource(info.subresource)
        verbs = subresource.verbs if subresource else ()
    if request.method == "HEAD" or info.verb not in verbs or info.verb not in RESOURCE_VERBS:
        return False
    named = len(info.parts) > 1
    return info.verb == "watch" or (info.verb in _COLLECTION) != named


# --- what there is --------------------------------------------------------------------------------------------------


def core_endpoints(stores: Stores, admission: Admission, watches: Watches) -> list[BuiltinEndpoint]:
    """Namespaces and events of core/v1."""
    return [
        namespaces_endpoint(stores.store(NAMESPACES.resource.group_resource), admission, watches),
        events_endpoint(stores.store(EVENTS.resource.group_resource), admission, watches),
    ]


def namespaces_endpoint(store: Store, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Namespaces with status and finalize."""
    codec = namespace_codec()
    main = Scope(
        kind=NAMESPACES.kind,
        resource=NAMESPACES.resource,
        rest=NamespaceRest(store, codec),
        codec=codec,
        field_label=_labels(_NAMESPACE_LABELS),
        admission=admission,
        watches=watches,
        namespaced=False,
        list_kind=NAMESPACES.list_kind,
        typed=True,
        offers=BUILTIN_OFFERS,
        message=NAMESPACE_WIRE,
        package="core",
        table=TableConvertor(NAMESPACE_COLUMNS),
        patch_types=BUILTIN_PATCHES,
        returns_deleted=True,
        strategic_keys={**OBJECT_META_KEYS, "conditions": "type"},
    )
    status = NamespaceRest(store, codec, NamespaceStatusStrategy())
    finalize = NamespaceRest(store, codec, NamespaceFinalizeStrategy())
    return BuiltinEndpoint(
        NAMESPACES,
        {
            "": main,
            "status": dataclasses.replace(main, subresource="status", rest=status),
            "finalize": dataclasses.replace(main, subresource="finalize", rest=finalize, offers=UNTABLED_OFFERS),
        },
    )


def events_endpoint(store: Store, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """Events."""
    codec = event_codec()
    main = Scope(
        kind=EVENTS.kind,
        resource=EVENTS.resource,
        rest=EventRest(store, codec),
        codec=codec,
        field_label=_labels(_EVENT_LABELS),
        admission=admission,
        watches=watches,
        list_kind=EVENTS.list_kind,
        typed=True,
        offers=BUILTIN_OFFERS,
        message=EVENT_WIRE,
        package="core",
        table=TableConvertor(EVENT_COLUMNS),
        patch_types=BUILTIN_PATCHES,
        strategic_keys=OBJECT_META_KEYS,
    )
    return BuiltinEndpoint(EVENTS, {"": main})


def definitions_endpoint(store: Store, controllers: Controllers, admission: Admission, watches: Watches) -> BuiltinEndpoint:
    """CustomResourceDefinitions with their status; the controllers hear of every write at once."""
    codec = CRDCodec()
    resource = CUSTOM_RESOURCE_DEFINITIONS
    observe, forget = controllers.observe, controllers.forget
    main = Scope(
        kind=resource.kind,
        resource=resource.resource,
        rest=CustomResourceDefinitionRest(store, codec=codec, observe=observe, forget=forget),
        codec=codec,
        field_label=meta_field_label,
        admission=admission,
        watches=watches,
        namespaced=False,
        list_kind=resource.list_kind,
        typed=True,
        offers=BUILTIN_OFFERS,
        other_versions=("v1beta1",),
        null_rows=True,
        message=DEFINITION_WIRE,
        package="apiextensions",
        table=TableConvertor(DEFINITION_COLUMNS),
        patch_types=BUILTIN_PATCHES,
        strategic_keys=OBJECT_META_KEYS,
    )
    status = CustomResourceDefinitionRest(
        store, codec=codec, strategy=CustomResourceDefinitionStatusStrategy(), observe=observe, forget=forget
    )
    below = dataclasses.replace(main, subresource="status", rest=status, offers=UNTABLED_OFFERS)
    return BuiltinEndpoint(resource, {"": main, "status": below})


def _labels(known: frozenset[str]) -> FieldLabel:
    def check(label: str, value: str) -> tuple[str, str]:
        if label not in known:
            raise ValueError(f"field label not supported: {label}")
        return label, value

    return check
