"""Answers at /api and /apis.

Mirrors apiserver pkg/endpoints/discovery (and aggregated/), the version and group handlers of apiextensions-apiserver,
and the order of kube-aggregator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from aiohttp import hdrs, web

from apiext.definitions.catalog import Catalog
from apiext.discovery import documents
from apiext.discovery.paths import Page, pages
from apiext.discovery.resources import Group, collect
from apiext.endpoints.responsewriters.cached_document import Document
from apiext.endpoints.responsewriters.response import Reply
from apiext.endpoints.responsewriters.status import text_reply
from apiext.endpoints.serializers.negotiation import PROTOBUF, YAML, Convert, MediaType, Offers, check_route, negotiate_output
from apiext.meta import errors, json_codec
from apiext.meta.builtin_resources import BuiltinGroupVersion

_PLAIN: Final = Offers()
_GROUP, _VERSION, _KIND = documents.AGGREGATED
_CONVERT: Final = Convert(kind=_KIND, group=_GROUP, version=_VERSION)
_PARAMS: Final = f"g={_GROUP};v={_VERSION};as={_KIND}"
_NOT_GET: Final = "the server does not allow this method on the requested resource"


class _RootOffers(Offers):
    """What /api and /apis write: themselves, or the aggregated document."""

    __slots__ = ()

    def allows(self, media_type: str, convert: Convert | None) -> bool:
        return convert is None or convert == _CONVERT


_ROOT: Final = _RootOffers()


class DiscoveryHandler:
    """Answers discovery for what the catalog holds and for what is built in.

    What is answered follows the catalog at once. Documents are rendered when first asked for after a change.
    `address` is host and port where clients reach the server; empty for the address that the request came to.
    """

    def __init__(self, catalog: Catalog, builtins: Sequence[BuiltinGroupVersion], *, address: str = "") -> None:
        self._catalog = catalog
        self._builtins = builtins
        self._own_groups = frozenset(builtin.group_version.group for builtin in builtins)
        self._address = address
        self._generation: int | None = None
        self._groups: tuple[Group, ...] = ()
        self._pages: dict[tuple[str, ...], Page] = {}
        self._rendered: dict[tuple[str, ...], Document] = {}

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request for /api, /apis or what is below them up to the version; raises StatusError (404, 405, 406)."""
        self._refresh()
        parts = tuple(part for part in request.path.split("/") if part)
        page = self._pages.get(parts)
        if page is None or request.path == "/apis//":
            return self._missing(parts)
        if page.only_get and request.method != hdrs.METH_GET:
            raise errors.StatusError(405, "MethodNotAllowed", _NOT_GET, {})
        if page.only_get:
            check_route(request, _PLAIN.named)
        # with a slash at its end, the reference serves /apis by another handler than without
        aggregates = len(parts) == 1 and request.path != "/apis/"
        media = negotiate_output(request, _ROOT if aggregates else _PLAIN)
        if media.convert is not None:
            return self._aggregated(request, parts[0], media)
        address = self._where(request) if page.depends_on_address else ""
        document = self._document((*parts, address), lambda: page.make(address), media)
        return document.reply(request)

    def _refresh(self) -> None:
        """Forget what was rendered before the catalog changed."""
        generation = self._catalog.generation
        if generation != self._generation:
            self._groups = collect(self._catalog.all(), self._builtins)
            self._pages = pages(self._groups, self._own_groups)
            self._rendered = {}
            self._generation = generation

    def _aggregated(self, request: web.BaseRequest, prefix: str, media: MediaType) -> Reply:
        """The aggregated document, which clients keep by its ETag."""
        groups = [group for group in self._groups if bool(group.name) == (prefix == "apis")]
        # one ETag for all media types, told apart by Vary
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

    def _etag(self, prefix: str, groups: Sequence[Group]) -> str:
        """The reference's hash: that of the document before it has a kind."""
        found = self._rendered.get((prefix, "hashed"))
        if found is None:
            content = {"metadata": {}, "items": documents.group_discovery_items(groups)}
            found = self._rendered[prefix, "hashed"] = Document(json_codec.dumps(content, sort_keys=False), "")
        return found.etag

    def _document(self, key: tuple[str, ...], make: Callable[[], object], media: MediaType, *, content_type: str = "") -> Document:
        """The rendered document, made once until the catalog changes."""
        key = (*key, media.type, "pretty" if media.pretty else "")
        found = self._rendered.get(key)
        if found is None:
            found = self._rendered[key] = Document(_render(make(), media), content_type or media.type)
        return found

    def _where(self, request: web.BaseRequest) -> str:
        """Host and port of the server."""
        if self._address or request.transport is None:
            return self._address
        name = request.transport.get_extra_info("sockname")
        if not isinstance(name, tuple):
            return ""
        host, port = name[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _missing(self, parts: tuple[str, ...]) -> web.StreamResponse:
        """404: a Status below what is built in, plain text elsewhere; raises StatusError."""
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
