"""Serves /api and /apis.

Mirrors apiserver pkg/endpoints/discovery (and aggregated/), the version and group handlers of apiextensions-apiserver,
and the order of kube-aggregator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from aiohttp import hdrs, web

from apiext.api.discovery.resources import APIGroup, APIResource, APISubresource, APIVersion, collect
from apiext.api.endpoints.request import SERVES_CBOR
from apiext.api.endpoints.responsewriters.cached_document import Document
from apiext.api.endpoints.responsewriters.content_encoding import formatted
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.endpoints.serializers.negotiation import (
    PLAIN_OFFERS,
    PROTOBUF,
    Convert,
    MediaType,
    Offers,
    asks_for_indentation,
    check_route,
    negotiate_output,
    route_types,
)
from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import BuiltinGroupVersion
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.gvk import GroupVersion, GroupVersionKind
from apiext.resources.definitions.catalog import Catalog

AGGREGATED: Final = GroupVersionKind("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList")
"""The kind of the aggregated document."""


def api_versions(core: APIGroup) -> Object:
    """Return the document at /api, without the addresses of the server."""
    return {"kind": "APIVersions", "versions": [served.version for served in core.versions]}


def server_addresses(address: str) -> Object:
    """Return the field of the document at /api with the server's host and port."""
    return {"serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]}


def api_group_list(groups: Iterable[APIGroup]) -> Object:
    """Return the document at /apis, without the core group."""
    ordered = sorted((group for group in groups if group.name), key=_sort_key)
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(group) for group in ordered]}


def _sort_key(group: APIGroup) -> tuple[int, str]:
    """Return the sort key of a group: its priority, then the first name of its APIServices, as kube-aggregator sorts."""
    return -group.priority, min(f"{served.version}.{group.name}" for served in group.versions)


def api_group(group: APIGroup) -> Object:
    """Return the document at /apis/<group>."""
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(group)}


def _group(group: APIGroup) -> Object:
    versions = [{"groupVersion": f"{group.name}/{served.version}", "version": served.version} for served in group.versions]
    return {"name": group.name, "versions": versions, "preferredVersion": versions[0]}


def api_resource_list(group: str, served: APIVersion) -> Object:
    """Return the document at /apis/<group>/<version>; the core group's document has no apiVersion, as upstream."""
    resources: list[Object] = []
    for resource in served.resources:
        resources.append(_resource(resource))
        resources += [_subresource(resource, sub) for sub in resource.subresources]
    return {
        "kind": "APIResourceList",
        **({"apiVersion": "v1"} if group else {}),
        "groupVersion": str(GroupVersion(group, served.version)),
        "resources": resources,
    }


def _resource(resource: APIResource) -> Object:
    return {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.response_kind.kind,
        "verbs": resource.verbs,
        **_names(resource),
        **({"storageVersionHash": resource.storage_version_hash} if resource.storage_version_hash else {}),
    }


def _names(resource: APIResource) -> Object:
    names = {"shortNames": resource.short_names, "categories": resource.categories}
    return {field: listed for field, listed in names.items() if listed}


def _subresource(resource: APIResource, sub: APISubresource) -> Object:
    foreign = sub.response_kind[:2] not in {resource.response_kind[:2], ("", "")}
    return {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        **({"group": sub.response_kind.group, "version": sub.response_kind.version} if foreign else {}),
        "kind": sub.response_kind.kind,
        "verbs": sub.verbs,
    }


def group_discovery_list(groups: Iterable[APIGroup]) -> Object:
    """Return the aggregated document."""
    items = [_group_discovery(group) for group in groups]
    return {"kind": AGGREGATED.kind, "apiVersion": AGGREGATED.api_version, "metadata": {}, "items": items}


def _group_discovery(group: APIGroup) -> Object:
    return {
        "metadata": {"name": group.name} if group.name else {},
        "versions": [
            {
                "version": served.version,
                "resources": [_resource_discovery(resource) for resource in served.resources],
                "freshness": "Current",
            }
            for served in group.versions
        ],
    }


def _resource_discovery(resource: APIResource) -> Object:
    subresources = [
        {"subresource": sub.name, "responseKind": sub.response_kind._asdict(), "verbs": sub.verbs} for sub in resource.subresources
    ]
    return {
        "resource": resource.plural,
        "responseKind": resource.response_kind._asdict(),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": resource.verbs,
        **_names(resource),
        **({"subresources": subresources} if subresources else {}),
    }


_CONVERT: Final = Convert(**AGGREGATED._asdict())
_PARAMS: Final = f"g={AGGREGATED.group};v={AGGREGATED.version};as={AGGREGATED.kind}"
_VERSION_PARTS: Final = 3
"""Segments in the path of a group's version."""
_Question = tuple[str, str, str]
"""The path with its query, the Accept header and the method of a request."""
_MAX_KNOWN: Final = 1024
"""Questions whose documents are remembered."""
_MAX_QUESTION: Final = 512
"""Characters of such a question."""
_NOT_GET: Final = "the server does not allow this method on the requested resource"


class _RootOffers(Offers):
    """The media types of /api and /apis: the plain and the aggregated document."""

    __slots__ = ()

    def allows(self, media_type: str, convert: Convert | None) -> bool:
        return convert is None or convert == _CONVERT


_ROOT: Final = _RootOffers()


class DiscoveryHandler:
    """Serves discovery of the catalog's definitions and the built-in resources.

    Every answer shows the current state of the catalog. The first request after a change renders a document.
    """

    def __init__(self, catalog: Catalog, builtins: Sequence[BuiltinGroupVersion]) -> None:
        self._catalog = catalog
        self._builtins = builtins
        self._own_versions = frozenset(builtin.group_version for builtin in builtins)
        self._own_groups = frozenset(group for group, _ in self._own_versions)
        self._generation: int | None = None
        self._groups: tuple[APIGroup, ...] = ()
        self._paths: dict[tuple[str, ...], Object] = {}
        """The plain documents by path; that at /api is made for each address."""
        self._rendered: dict[tuple[str, ...], Document] = {}
        self._known: dict[_Question, Document] = {}
        """The plain documents by the requests that they have answered."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request for /api, /apis, a group or a version.

        Raises:
            StatusError: 404 for an unknown path, 405 for another method, 406 for other media types.
        """
        self._refresh()
        question = None if asks_for_indentation(request) else (request.raw_path, request.headers.get(hdrs.ACCEPT, ""), request.method)
        known = self._known.get(question) if question is not None else None
        if known is not None:
            return known.reply(request)
        parts = tuple(part for part in request.path.split("/") if part)
        document = self._paths.get(parts)
        is_builtin = parts[:1] == ("api",) or (len(parts) == _VERSION_PARTS and parts[1] in self._own_groups)
        if is_builtin and len(parts) == _VERSION_PARTS and GroupVersion(*parts[1:]) not in self._own_versions:
            # the handler of a built-in group also gets requests for its custom versions, which it does not know
            document = None
        if document is None or request.path == "/apis//":
            if is_builtin:
                raise errors.path_not_found()
            return text_reply("404 page not found", status=404)
        if is_builtin:
            if request.method != hdrs.METH_GET:
                raise errors.StatusError(405, "MethodNotAllowed", _NOT_GET, {})
            check_route(request, route_types(request))
        elif len(parts) == _VERSION_PARTS and SERVES_CBOR in request:
            # the reference's handler of versions of custom resources knows no CBOR
            del request[SERVES_CBOR]
        # the reference serves /apis/ with another handler than /apis
        aggregates = len(parts) == 1 and request.path != "/apis/"
        media = negotiate_output(request, _ROOT if aggregates else PLAIN_OFFERS)
        if media.convert is not None:
            return self._aggregated(request, parts[0], media)
        if parts == ("api",):
            address = _server_address(request)
            document = document | server_addresses(address)
            parts, question = (*parts, address), None
        found = self._document(parts, lambda: document, media)
        if question is not None and len(self._known) < _MAX_KNOWN and len(question[0]) + len(question[1]) <= _MAX_QUESTION:
            self._known[question] = found
        return found.reply(request)

    def _refresh(self) -> None:
        """Drop the rendered documents after a change of the catalog."""
        generation = self._catalog.generation
        if generation != self._generation:
            self._groups = collect(self._catalog.all(), self._builtins)
            self._paths = _plain_documents(self._groups)
            self._rendered = {}
            self._known = {}
            self._generation = generation

    def _aggregated(self, request: web.BaseRequest, prefix: str, media: MediaType) -> Reply:
        """Return the aggregated document, or 304 for a client with its ETag."""
        groups = [group for group in self._groups if bool(group.name) == (prefix == "apis")]
        # one ETag for all media types; Vary tells them apart
        etag = self._etag(prefix, groups)
        headers: dict[str, str] = {hdrs.ETAG: etag, hdrs.VARY: hdrs.ACCEPT, hdrs.CACHE_CONTROL: "public"}
        if request.headers.get(hdrs.IF_NONE_MATCH) == etag:
            return Reply(status=304, headers=headers)
        document = self._document(
            (prefix, "aggregated"),
            lambda: group_discovery_list(groups),
            media,
            content_type=f"{media.type};{_PARAMS}",
        )
        return document.reply(request, headers=headers)

    def _etag(self, prefix: str, groups: Sequence[APIGroup]) -> str:
        """Return the ETag: the hash of the document without a kind, as upstream."""
        found = self._rendered.get((prefix, "hashed"))
        if found is None:
            document = group_discovery_list(groups)
            del document["kind"], document["apiVersion"]
            found = self._rendered[prefix, "hashed"] = Document(json_codec.dumps(document, sort_keys=False), "")
        return found.etag

    def _document(self, key: tuple[str, ...], make: Callable[[], object], media: MediaType, *, content_type: str = "") -> Document:
        """Return a rendered document; render it once for each state of the catalog."""
        key = (*key, media.type, "pretty" if media.pretty else "")
        found = self._rendered.get(key)
        if found is None:
            found = self._rendered[key] = Document(_render(make(), media), content_type or media.type)
        return found


def _plain_documents(groups: tuple[APIGroup, ...]) -> dict[tuple[str, ...], Object]:
    """Return the plain document of each path; keys are the path segments."""
    found: dict[tuple[str, ...], Object] = {("apis",): api_group_list(groups)}
    for group in groups:
        if group.name:
            found["apis", group.name] = api_group(group)
        else:
            found["api",] = api_versions(group)
        for served in group.versions:
            path = ("apis", group.name, served.version) if group.name else ("api", served.version)
            found[path] = api_resource_list(group.name, served)
    return found


def _server_address(request: web.BaseRequest) -> str:
    """Return the host and port at which a request arrived, empty if they are unknown."""
    name = request.transport.get_extra_info("sockname") if request.transport is not None else None
    if not isinstance(name, tuple):
        return ""
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _render(content: Any, media: MediaType) -> bytes:
    if media.type == PROTOBUF:
        from apiext.api.discovery import protobuf_messages

        return protobuf_messages.dumps(content)
    return formatted(json_codec.dumps(content, sort_keys=False), media)
