"""Serves /openapi/v2, /openapi/v3 and the documents below.

Mirrors kube-openapi pkg/handler and pkg/handler3.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from typing import Any, Final

from aiohttp import hdrs, web

import apiext
from apiext.api.endpoints.request import USER
from apiext.api.endpoints.responsewriters.cached_document import Document, accepts_gzip
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.endpoints.serializers.negotiation import JSON, clauses
from apiext.api.openapi import builtin_resources, custom_resources, naming, v3_document
from apiext.api.openapi.builtin_definitions import V3_PREFIX, closure, references
from apiext.api.openapi.custom_resources import V2_PREFIX
from apiext.api.openapi.operations import Operation, operations
from apiext.api.openapi.parameters import Parameter
from apiext.api.openapi.schemas import Schema
from apiext.api.openapi.v3_document import TOKEN, common_parameters, extensions, models
from apiext.base.meta.builtin_resources import BuiltinGroupVersion
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupVersion
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.definition import Definition, Version

_V2: Final = "/openapi/v2"
_V3: Final = "/openapi/v3"
_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_OLD_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_V3_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
_OLD_V3_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
_V2_TYPES: Final = (JSON, _OLD_PROTOBUF, _PROTOBUF)
_V3_TYPES: Final = (JSON, _V3_PROTOBUF, _OLD_V3_PROTOBUF)
_V2_VARY: Final = f"{hdrs.ACCEPT_ENCODING}, {hdrs.ACCEPT}"
_AGGREGATOR: Final = "system:aggregator"
"""The user of kube-aggregator's own requests, which merge the documents of API servers."""
_FORWARDED: Final = "X-Forwarded-Uri"
"""The header that kube-aggregator adds to proxied requests."""

_COMPRESS_FROM: Final = 1400
"""Bytes from which a body is compressed (gziphandler DefaultMinSize)."""
_ANY_ETAG: Final = "*"


_CORE: Final = GroupVersion("", "v1")
_GROUPS: Final = (
    *("admissionregistration.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io", "events.k8s.io"),
    *("rbac.authorization.k8s.io", "storagemigration.k8s.io"),
)
_ALL_GROUPS: Final = (_CORE, *(GroupVersion(group, version) for group in _GROUPS for version in ("v1", "v1beta1")))
"""Upstream's scheme knows v1beta1 of these groups although it is not served."""


_UNSHARED: Final = frozenset({"name", "fieldValidation", "dryRun"})
"""Parameters that are not shared: old clients read them from the operation."""
_FNV_OFFSET: Final = 0xCBF29CE484222325
_FNV_PRIME: Final = 0x100000001B3


def build(
    paths: Mapping[str, list[Operation]], definitions: dict[str, Schema], groups: Iterable[GroupVersion], version: str
) -> dict[str, Any]:
    """Build the document of the operations by path; `definitions` describe the custom kinds, in v2.

    `groups` are the groups and versions of common kinds such as DeleteOptions.
    """
    used = models(paths) | {f"{naming.META}.{name}" for name in ("ObjectMeta", "ListMeta")}
    shared: dict[str, Any] = {}
    items = {path: _path(path_operations, shared) for path, path_operations in paths.items()}
    builtin = {name: _to_v2(schema) for name, schema in closure(used, groups).items()}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": items,
        "definitions": dict(sorted({**builtin, **definitions}.items())),
        "parameters": dict(sorted(shared.items())),
        "securityDefinitions": {"BearerToken": TOKEN},
        "security": [{"BearerToken": []}],
    }


def _to_v2(schema: Any) -> Any:
    """Convert a built-in definition to v2: references beside other fields, no defaults."""
    if isinstance(schema, list):
        return [_to_v2(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    plain: dict[str, Any] = {}
    for key, member in schema.items():
        if key == "properties":
            plain[key] = {name: _to_v2(child) for name, child in member.items()}
        elif key == "allOf" and len(member) == 1 and "$ref" in member[0]:
            plain["$ref"] = V2_PREFIX + next(references(member))
        elif key == "$ref":
            plain[key] = V2_PREFIX + member.removeprefix(V3_PREFIX)
        elif key != "default":
            plain[key] = _to_v2(member)
    return plain


def _path(path_operations: list[Operation], shared: dict[str, Any]) -> dict[str, Any]:
    common = common_parameters(path_operations)
    item: dict[str, Any] = {operation.method: _operation(operation, common, shared) for operation in path_operations}
    if common:
        item["parameters"] = [_parameter(parameter, shared) for parameter in sorted(common)]
    return item


def _operation(operation: Operation, common: set[Parameter], shared: dict[str, Any]) -> dict[str, Any]:
    parameters = [_parameter(parameter, shared) for parameter in operation.parameters if parameter not in common]
    if operation.body:
        parameters.insert(0, _body(operation, shared))
    schema = {"$ref": V2_PREFIX + operation.response}
    responses: dict[str, Any] = {str(code): {"description": text, "schema": schema} for code, text in operation.codes}
    return {
        "description": operation.description,
        "consumes": list(operation.consumes),
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.id,
        **({"parameters": parameters} if parameters else {}),
        "responses": {**responses, "401": {"description": "Unauthorized"}},
        **extensions(operation),
    }


def _body(operation: Operation, shared: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {"name": "body", "in": "body"}
    if operation.body_required:
        body["required"] = True
    body["schema"] = {"$ref": V2_PREFIX + operation.body}
    return _share(body, shared) if operation.body.startswith("io.k8s.apimachinery") else body


def _parameter(parameter: Parameter, shared: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "uniqueItems": True,
        "type": parameter.type,
        "description": parameter.description,
        "name": parameter.name,
        "in": parameter.place,
        **({"required": True} if parameter.required else {}),
    }
    return document if parameter.name in _UNSHARED else _share(document, shared)


def _share(document: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """Add a parameter to the shared ones, and return a reference to it."""
    name = f"{document['name']}-{_short_hash(json_codec.dumps(document))}"
    shared[name] = document
    return {"$ref": f"#/parameters/{name}"}


def _short_hash(data: bytes) -> str:
    """Return the first six bytes of the FNV-1 hash in URL-safe base64."""
    digest = _FNV_OFFSET
    for byte in data:
        digest = (digest * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF ^ byte
    return base64.urlsafe_b64encode(digest.to_bytes(8, "big")[:6]).decode()


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of one document."""

    hash: str
    """Upper-case hex; equal for equal parts, in any process."""
    builtins: tuple[BuiltinGroupVersion, ...] = ()
    discovery: tuple[Operation, ...] = ()
    customs: tuple[tuple[Definition, Version], ...] = ()

    @property
    def is_on_host(self) -> bool:
        """Whether the host has the document too: all its definitions are mirrors."""
        return all(definition.phase is not None for definition, _ in self.customs)

    def v3(self, title_version: str) -> dict[str, Any]:
        """Build the v3 document, which may take seconds."""
        groups = {_CORE, *(one.group_version for one in self.builtins)}
        version = "" if self.customs else title_version
        return v3_document.build(self._paths(), self._schemas(v2=False), sorted(groups), version=version)

    def v2(self, title_version: str) -> dict[str, Any]:
        """Build the v2 document, which may take seconds."""
        return build(self._paths(), self._schemas(v2=True), _ALL_GROUPS, title_version)

    def _paths(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = defaultdict(list)
        for operation in self._operations():
            found[operation.path].append(operation)
        return dict(sorted(found.items()))

    def _operations(self) -> Iterator[Operation]:
        yield from self.discovery
        for group_version in self.builtins:
            for resource in group_version.resources:
                yield from operations(builtin_resources.documented(resource))
        for definition, version in self.customs:
            yield from operations(custom_resources.documented(definition, version))

    def _schemas(self, *, v2: bool) -> dict[str, Schema]:
        found: dict[str, Schema] = {}
        for definition, version in self.customs:
            found |= custom_resources.definitions(definition, version, v2=v2)
        return found


def sources(definitions: Iterable[Definition], builtins: Sequence[BuiltinGroupVersion]) -> dict[str, Source]:
    """Return the source of each v3 document by path; a built-in version replaces a custom one of the same name."""
    customs: dict[str, list[tuple[Definition, Version]]] = defaultdict(list)
    for definition in sorted(definitions, key=lambda definition: definition.name):
        if definition.is_established:
            for version in definition.served_versions:
                customs[naming.document_path(GroupVersion(definition.group, version.name))].append((definition, version))
    found = {path: Source(_hash(path, parts), customs=tuple(parts)) for path, parts in customs.items()}
    own = {naming.document_path(one.group_version): one for one in builtins}
    for path, discovery in builtin_resources.discovery(builtins).items():
        found[path] = Source(_hash(path, ()), builtins=(own[path],) if path in own else (), discovery=discovery)
    return dict(sorted(found.items()))


def merged(all_sources: Iterable[Source]) -> Source:
    """Return the source of the v2 document."""
    parts = list(all_sources)
    return Source(
        _sha512("\n".join(source.hash for source in parts)),
        builtins=tuple(one for source in parts for one in source.builtins),
        discovery=tuple(one for source in parts for one in source.discovery),
        customs=tuple(one for source in parts for one in source.customs),
    )


def _hash(path: str, parts: Iterable[tuple[Definition, Version]]) -> str:
    """Return a hash of the source, not of the document: the index must not build all documents."""
    lines = [apiext.__version__, path]
    lines += [f"{part.name},{part.uid},{part.head['metadata'].get('generation', 0)}" for part, _ in parts]
    return _sha512("\n".join(lines))


def _sha512(text: str) -> str:
    return hashlib.sha512(text.encode()).hexdigest().upper()


def content_reply(request: web.BaseRequest, document: Document, headers: Mapping[str, str], *, compress: bool = False) -> Reply:
    """Return the response to a request for a document: 200, or 304 where the client has it."""
    own = {hdrs.LAST_MODIFIED: formatdate(document.created, usegmt=True), **headers}
    if request.method in {hdrs.METH_GET, hdrs.METH_HEAD} and _is_known(request, own.get(hdrs.ETAG, ""), document.created):
        if hdrs.ETAG in own:
            del own[hdrs.LAST_MODIFIED]
        return Reply(status=304, headers=own)
    if compress and len(document.body) >= _COMPRESS_FROM and accepts_gzip(request) and request.method != hdrs.METH_HEAD:
        own[hdrs.CONTENT_ENCODING] = "gzip"
        return Reply(document.compressed, content_type=document.content_type, headers=own)
    return Reply(document.body, content_type=document.content_type, headers=own)


def _is_known(request: web.BaseRequest, etag: str, created: int) -> bool:
    """Return whether If-None-Match names the ETag or, without that header, the document is not newer than If-Modified-Since."""
    if request.headers.get(hdrs.IF_NONE_MATCH):
        return any(known.value in {_ANY_ETAG, etag.strip('"')} for known in request.if_none_match or ())
    since = request.if_modified_since
    return since is not None and created <= since.timestamp()


class OpenAPIHandler:
    """Serves OpenAPI of the catalog's definitions and the built-in resources.

    kube-aggregator proxies a request for a document to any server that lists it in its index, and does not follow redirects. So the
    index for kube-aggregator omits documents of the host, and its clients get the current document instead of a redirect.

    The index shows the current state of the catalog without any document. The first request for a document after a change of its
    definitions builds it, in a thread. Documents state the first two parts of `version`.
    """

    def __init__(self, catalog: Catalog, builtins: Sequence[BuiltinGroupVersion], *, version: str = "v1.37") -> None:
        self._catalog = catalog
        self._builtins = builtins
        self._version = ".".join(version.removeprefix("v").split(".")[:2])
        self._generation: int | None = None
        self._sources: dict[str, Source] = {}
        self._merged = Source("")
        self._index = self._aggregated_index = b""
        self._documents: dict[tuple[str, str], tuple[str, asyncio.Future[Document]]] = {}
        """Hash of the source and document, by path and media type."""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request below /openapi."""
        self._refresh()
        path = request.path
        if path == _V2:
            return await self._answer_v2(request)
        if path == _V3:
            user = request.get(USER)
            index = self._aggregated_index if user is not None and user.name == _AGGREGATOR else self._index
            return content_reply(request, Document(index, "text/plain; charset=utf-8"), {})
        if path.startswith(f"{_V3}/"):
            return await self._answer_v3(request, path.removeprefix(f"{_V3}/"))
        return text_reply("404 page not found", status=404)

    def _refresh(self) -> None:
        """Rebuild the index after a change of the catalog, and drop the documents of removed sources."""
        generation = self._catalog.generation
        if generation == self._generation:
            return
        self._sources = sources(self._catalog.all(), self._builtins)
        self._merged = merged(self._sources.values())
        self._index = _index_of(self._sources)
        self._aggregated_index = _index_of({path: source for path, source in self._sources.items() if not source.is_on_host})
        self._documents = {key: entry for key, entry in self._documents.items() if key[0] == _V2 or key[0] in self._sources}
        self._generation = generation

    async def _answer_v2(self, request: web.BaseRequest) -> web.StreamResponse:
        chosen = _accepted(request, _V2_TYPES)
        if not chosen:
            return Reply(status=406, headers={hdrs.VARY: _V2_VARY})
        document = await self._document(_V2, self._merged, JSON if chosen == JSON else _PROTOBUF, self._v2)
        if accepts_gzip(request):
            await asyncio.to_thread(lambda: document.compressed)
        return content_reply(request, document, {hdrs.ETAG: document.etag, hdrs.VARY: _V2_VARY}, compress=True)

    async def _answer_v3(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        source = self._sources.get(path)
        if source is None:
            return Reply(status=404)
        chosen = _accepted(request, _V3_TYPES)
        if not chosen:
            # as the reference: an empty 200 for an Accept header without any clause
            return Reply(status=406, headers={hdrs.VARY: hdrs.ACCEPT}) if clauses(request.headers[hdrs.ACCEPT]) else Reply()
        content_type = JSON if chosen == JSON else _V3_PROTOBUF
        headers: dict[str, str] = {hdrs.ETAG: f'"{source.hash}"', hdrs.VARY: hdrs.ACCEPT}
        requested = request.query.get("hash", "")
        if requested and requested != source.hash and _FORWARDED not in request.headers:
            return Reply(status=301, headers={**headers, hdrs.LOCATION: _url(path, source), hdrs.CONTENT_TYPE: content_type})
        if requested == source.hash:
            # the document of a hash never changes
            in_a_year = datetime.now(UTC) + timedelta(days=365)
            headers[hdrs.CACHE_CONTROL] = "public, immutable"
            headers[hdrs.EXPIRES] = in_a_year.strftime("%a, %d %b %Y %H:%M:%S UTC")
        return content_reply(request, await self._document(path, source, content_type, self._v3), headers)

    async def _document(self, path: str, source: Source, content_type: str, encode: Callable[[Source, str], bytes]) -> Document:
        """Return the document of a source. Concurrent requests share one build. Raises the exceptions of `encode`; they are not cached."""
        key = path, content_type
        found = self._documents.get(key)
        if found is None or found[0] != source.hash:
            build = asyncio.to_thread(lambda: Document(encode(source, content_type), content_type, tag=source.hash))
            task = asyncio.ensure_future(build)
            found = self._documents[key] = source.hash, task
        try:
            return await asyncio.shield(found[1])
        except asyncio.CancelledError:
            raise
        except BaseException:
            if self._documents.get(key) is found:
                del self._documents[key]
            raise

    def _v2(self, source: Source, content_type: str) -> bytes:
        document = source.v2(self._version)
        if content_type == JSON:
            return json_codec.dumps(document, sort_keys=False)
        from apiext.api.openapi import v2_protobuf

        return v2_protobuf.encode(document)

    def _v3(self, source: Source, content_type: str) -> bytes:
        document = source.v3(self._version)
        if content_type == JSON:
            return json_codec.dumps(document, sort_keys=False)
        from apiext.api.openapi import v3_protobuf

        return v3_protobuf.encode(document)


def _index_of(found: Mapping[str, Source]) -> bytes:
    return json_codec.dumps({"paths": {path: {"serverRelativeURL": _url(path, source)} for path, source in found.items()}})


def _url(path: str, source: Source) -> str:
    return f"{_V3}/{path}?hash={source.hash}"


def _accepted(request: web.BaseRequest, types: Sequence[str]) -> str:
    """Return the media type of the answer, empty if none is acceptable. Ignore parameters; either half of a type may be a wildcard."""
    for clause in clauses(request.headers.get(hdrs.ACCEPT) or "*/*"):
        for media_type in types:
            kind, _, subtype = media_type.partition("/")
            if clause.type in {kind, "*"} and clause.subtype in {subtype, "*"}:
                return media_type
    return ""
