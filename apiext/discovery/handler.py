"""Serves /api and /apis.

Mirrors apiserver pkg/endpoints/discovery (and aggregated/), the version and group handlers of apiextensions-apiserver,
and the order of kube-aggregator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from aiohttp import hdrs, web

from apiext.definitions.catalog import Catalog
from apiext.discovery import documents
from apiext.discovery.resources import APIGroup, collect
from apiext.endpoints.responsewriters.cached_document import Document
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.responsewriters.status import text_reply
from apiext.endpoints.serializers.negotiation import PROTOBUF, YAML, Convert, MediaType, Offers, check_route, negotiate_output
from apiext.meta import errors, json_codec
from apiext.meta.builtin_resources import BuiltinGroupVersion
from apiext.meta.json_codec import Object

_PLAIN: Final = Offers()
_GROUP, _VERSION, _KIND = documents.AGGREGATED
_CONVERT: Final = Convert(kind=_KIND, group=_GROUP, version=_VERSION)
_PARAMS: Final = f"g={_GROUP};v={_VERSION};as={_KIND}"
_NOT_GET: Final = "the server does not allow this method on the requested resource"


@dataclass(frozen=True, slots=True)
class DiscoveryPath:
    """The document at a path."""

    make: Callable[[str], Object]
    """Returns the document of a server with that host and port."""
    depends_on_address: bool = False
    only_get: bool = False
    """Whether other methods get 405, as upstream for built-in groups."""


def discovery_paths(groups: Iterable[APIGroup], own_groups: Collection[str]) -> dict[tuple[str, ...], DiscoveryPath]:
    """Return the document of each path; keys are the path segments."""
    groups = tuple(groups)
    table: dict[tuple[str, ...], DiscoveryPath] = {("apis",): DiscoveryPath(partial(_group_list, groups))}
    for group in groups:
        if group.name:
            table["apis", group.name] = DiscoveryPath(partial(_group, group))
        else:
            table["api",] = DiscoveryPath(partial(documents.api_versions, group), depends_on_address=True, only_get=True)
        for served in group.versions:
            path = ("apis", group.name, served.version) if group.name else ("api", served.version)
            document = documents.api_resource_list(group.name, served)
            table[path] = DiscoveryPath(partial(_constant, document), only_get=group.name in own_groups)
    return table


def _group_list(groups: Iterable[APIGroup], _address: str) -> Object:
    return documents.api_group_list(groups)


def _group(group: APIGroup, _address: str) -> Object:
    return documents.api_group(group)


def _constant(document: Object, _address: str) -> Object:
    return document


class _RootOffers(Offers):
    """The media types of /api and /apis: the plain and the aggregated document."""

    __slots__ = ()

    def allows(self, media_type: str, convert: Convert | None) -> bool:
        return convert is None or convert == _CONVERT


_ROOT: Final = _RootOffers()


class DiscoveryHandler:
    """Serves discovery of the catalog's definitions and the built-in resources.

    Every answer has the current state of the catalog. A document is rendered with its first request after a change.
    `address` is host and port of the server; empty for the address that the request arrived at.
    """

    def __init__(self, catalog: Catalog, builtins: Sequence[BuiltinGroupVersion], *, address: str = "") -> None:
        self._catalog = catalog
        self._builtins = builtins
        self._own_groups = frozenset(builtin.group_version.group for builtin in builtins)
        self._address = address
        self._generation: int | None = None
        self._groups: tuple[APIGroup, ...] = ()
        self._paths: dict[tuple[str, ...], DiscoveryPath] = {}
        self._rendered: dict[tuple[str, ...], Document] = {}

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request for /api, /apis, a group or a version.

        Raises:
            StatusError: 404 for an unknown path, 405 for another method, 406 for other media types.
        """
        self._refresh()
        parts = tuple(part for part in request.path.split("/") if part)
        entry = self._paths.get(parts)
        if entry is None or request.path == "/apis//":
            return self._missing(parts)
        if entry.only_get and request.method != hdrs.METH_GET:
            raise errors.StatusError(405, "MethodNotAllowed", _NOT_GET, {})
        if entry.only_get:
            check_route(request, _PLAIN.named)
        # the reference serves /apis/ with another handler than /apis
        aggregates = len(parts) == 1 and request.path != "/apis/"
        media = negotiate_output(request, _ROOT if aggregates else _PLAIN)
        if media.convert is not None:
            return self._aggregated(request, parts[0], media)
        address = self._server_address(request) if entry.depends_on_address else ""
        document = self._document((*parts, address), lambda: entry.make(address), media)
        return document.reply(request)

    def _refresh(self) -> None:
        """Drop the rendered documents after a change of the catalog."""
        generation = self._catalog.generation
        if generation != self._generation:
            self._groups = collect(self._catalog.all(), self._builtins)
            self._paths = discovery_paths(self._groups, self._own_groups)
            self._rendered = {}
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
            lambda: documents.group_discovery_list(documents.group_discovery_items(groups)),
            media,
            content_type=f"{media.type};{_PARAMS}",
        )
        return document.reply(request, headers=headers)

    def _etag(self, prefix: str, groups: Sequence[APIGroup]) -> str:
        """Return the ETag: the hash of the document before it has a kind, as upstream."""
        found = self._rendered.get((prefix, "hashed"))
        if found is None:
            content = {"metadata": {}, "items": documents.group_discovery_items(groups)}
            found = self._rendered[prefix, "hashed"] = Document(json_codec.dumps(content, sort_keys=False), "")
        return found.etag

    def _document(self, key: tuple[str, ...], make: Callable[[], object], media: MediaType, *, content_type: str = "") -> Document:
        """Return a rendered document, rendered once for each state of the catalog."""
        key = (*key, media.type, "pretty" if media.pretty else "")
        found = self._rendered.get(key)
        if found is None:
            found = self._rendered[key] = Document(_render(make(), media), content_type or media.type)
        return found

    def _server_address(self, request: web.BaseRequest) -> str:
        """Return host and port of the server."""
        if self._address or request.transport is None:
            return self._address
        name = request.transport.get_extra_info("sockname")
        if not isinstance(name, tuple):
            return ""
        host, port = name[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _missing(self, parts: tuple[str, ...]) -> web.StreamResponse:
        """Return 404 in plain text; raises it as StatusError below built-in groups."""
        if parts[:1] == ("api",) or (len(parts) == 3 and parts[1] in self._own_groups):
            raise errors.path_not_found()
        return text_reply("404 page not found", status=404)


def _render(content: Any, media: MediaType) -> bytes:
    if media.type == PROTOBUF:
        from apiext.discovery import protobuf_messages

        return protobuf_messages.dumps(content)
    data = json_codec.dumps(content, sort_keys=False)
    if media.type == YAML:
        from apiext.endpoints.serializers import yaml_codec

        return yaml_codec.dumps(json_codec.loads(data))
    return json_codec.pretty(data) if media.pretty else data + b"\n"
