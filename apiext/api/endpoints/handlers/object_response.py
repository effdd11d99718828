"""Responses with objects, lists and Status, in the negotiated media type.

Mirrors apiserver pkg/endpoints/handlers (response.go).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, Final

from aiohttp import web

from apiext.api.endpoints.handlers import protobuf_encoder
from apiext.api.endpoints.parameters.query_parameters import parse_query, text
from apiext.api.endpoints.request import audit_of
from apiext.api.endpoints.responsewriters import content_encoding
from apiext.api.endpoints.responsewriters.table import (
    TABLE_TAIL,
    AgeCache,
    TableForm,
    encode_items,
    item_metadata,
    item_row,
    partial_bytes,
    partial_list_head,
    rows,
    table_head,
)
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.negotiation import PROTOBUF, Convert, MediaType
from apiext.api.endpoints.serializers.protobuf_status import status_bytes
from apiext.base.meta import errors, field
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupVersion
from apiext.base.meta.objectmeta.sharding import ShardSelector
from apiext.storage.interface import Item, ListResult

_THREAD_THRESHOLD: Final = 16 * 1024
"""Bytes of JSON above which a thread encodes an object to Protobuf."""
_DATA: Final = attrgetter("data")
Document = Callable[[], Sequence[bytes]]
"""Returns the JSON of a response, in parts."""
_INCLUDES: Final = frozenset({"Object", "Metadata", "None", ""})


def table_form(request: web.BaseRequest, convert: Convert) -> TableForm:
    """Return the table options of a request.

    Raises:
        StatusError: 400 for an invalid includeObject.
    """
    include = text(parse_query(request), "includeObject")
    if include not in _INCLUDES:
        path = field.Path("includeObject")
        found = field.invalid(path, include, "must be 'Metadata', 'Object', 'None', or empty")
        raise errors.bad_request(f"Unable to convert to Table as requested: {found}")
    return TableForm(convert.version, include or "Metadata")


async def item_reply(request: web.BaseRequest, scope: Scope, media: MediaType, item: Item, *, status: int = 200) -> web.StreamResponse:
    """Send one object.

    Raises:
        StatusError: 400 for an invalid includeObject, 406 if the object has no such representation.
    """
    convert = media.convert
    if convert is None and media.type != PROTOBUF:
        json = (item.data, b"\n")
        return content_encoding.unchanged(request, media, json, status) or await content_encoding.send(request, media, json, status=status)
    begun = time.time_ns()
    if convert is not None:
        if convert.kind == "Table" and scope.dialect.table is not None:
            await scope.dialect.table.ready([item])
        parts = [_converted(request, scope, media, convert, item, begun)]
        document = (lambda: (partial_bytes(item.data, convert.version),)) if media.type == PROTOBUF else None
        moments = begun, time.time_ns()
        return await content_encoding.send(request, media, parts, status=status, document=document, moments=moments)
    moments = begun, time.time_ns()
    large = len(item.data) > _THREAD_THRESHOLD
    make = protobuf_encoder.object_bytes
    data = await asyncio.to_thread(make, scope, item.object()) if large else make(scope, item.object())
    return await content_encoding.send(request, media, [data], status=status, document=lambda: (item.data,), moments=moments)


def _converted(request: web.BaseRequest, scope: Scope, media: MediaType, convert: Convert, item: Item, begun: int) -> bytes:
    if convert.kind == "PartialObjectMetadata":
        if media.type == PROTOBUF:
            return protobuf_encoder.partial_bytes(item.data, convert.version)
        return partial_bytes(item.data, convert.version) + b"\n"
    if convert.kind != "Table":
        raise _formless(request, begun, _not_a_list(scope))
    if scope.dialect.table is None:
        raise errors.not_acceptable("no table convertor")
    form = table_form(request, convert)
    head = table_head(form, item_metadata(item), scope.dialect.table.headers)
    return head + item_row(scope.dialect.table, item, form, AgeCache(datetime.now(UTC))) + TABLE_TAIL


def _formless(request: web.BaseRequest, begun: int, error: errors.StatusError) -> errors.StatusError:
    """Return the error about a form that the response cannot have. The audit event tells how long the attempt took."""
    audit = audit_of(request)
    if audit is not None:
        audit.forming = begun
    return error


def _not_a_list(scope: Scope) -> errors.StatusError:
    if not scope.dialect.typed:
        return errors.unknown("content is not a list")
    asked = "you requested PartialObjectMetadataList, but the requested object is not a list"
    return errors.not_acceptable(f"{asked} (*{scope.dialect.package}.{scope.kind.kind})")


def _a_list(scope: Scope) -> errors.StatusError:
    name = f"*{scope.dialect.package}.{scope.dialect.list_kind}" if scope.dialect.typed else "*unstructured.UnstructuredList"
    return errors.not_acceptable(f"you requested PartialObjectMetadata, but the requested object is a list ({name})")


async def list_reply(
    request: web.BaseRequest, scope: Scope, media: MediaType, result: ListResult, shard: ShardSelector | None = None
) -> web.StreamResponse:
    """Send a list: of all objects, or of those of a shard.

    Raises:
        StatusError: 400 for an invalid includeObject, 406 if the list has no such representation.
    """
    convert, begun = media.convert, time.time_ns()
    metadata = _metadata(result, typed=scope.dialect.typed or convert is not None)
    if shard is not None and scope.dialect.typed and convert is None:
        # the reference's lists of custom resources, and its other forms of lists, have no place for it
        metadata["shardInfo"] = {"selector": shard.text}
    shape: Hashable = convert
    document: Document | None = None
    formed = time.time_ns() if convert is None else 0
    if convert is None:
        if media.type == PROTOBUF:
            parts = [await asyncio.to_thread(protobuf_encoder.list_bytes, scope, metadata, result.items)]
            document = partial(_document, scope, metadata, result)
        else:
            encode = partial(encode_items, result.items, partial(_without_type_meta, scope=scope) if scope.dialect.typed else _DATA)
            encoded = await scope.encodings.encoded(result.items, shape, encode)
            parts = _list_parts(scope, metadata, encoded)
    elif convert.kind == "PartialObjectMetadataList":
        if media.type == PROTOBUF:
            parts = [await asyncio.to_thread(protobuf_encoder.partial_list_bytes, convert.version, metadata, result.items)]
            document = partial(_partial_list_document, convert, metadata, result)
        else:
            head = partial_list_head(convert.version, metadata)
            encode = partial(encode_items, result.items, lambda item: partial_bytes(item.data, convert.version))
            encoded = await scope.encodings.encoded(result.items, shape, encode)
            parts = [head, *encoded, TABLE_TAIL] if result.items else _null(head)
    elif convert.kind == "Table" and scope.dialect.table is not None:
        form = table_form(request, convert)
        await scope.dialect.table.ready()
        head = table_head(form, metadata, scope.dialect.table.headers)
        now = datetime.now(UTC)
        # ages have a resolution of one second
        shape = form, int(now.timestamp())
        encoded = await scope.encodings.encoded(result.items, shape, partial(rows, scope.dialect.table, result.items, form, now))
        parts = _null(head) if scope.dialect.null_rows and not result.items else [head, *encoded, TABLE_TAIL]
    else:
        raise _formless(request, begun, _a_list(scope))

    def share(form: Hashable, encode: content_encoding.Encode) -> Awaitable[Sequence[bytes]]:
        return scope.encodings.encoded(result.items, (form, shape, json_codec.dumps(metadata)), encode)

    moments = begun, formed or time.time_ns()
    return await content_encoding.send(request, media, parts, share=share, document=document, moments=moments)


def _metadata(result: ListResult, *, typed: bool) -> dict[str, Any]:
    """Return a list's metadata. Unstructured lists include an empty `continue`."""
    metadata: dict[str, Any] = {"resourceVersion": str(result.revision)}
    if result.continue_token or not typed:
        metadata["continue"] = result.continue_token
    if result.remaining is not None:
        metadata["remainingItemCount"] = result.remaining
    return metadata


def _list_parts(scope: Scope, metadata: dict[str, Any], items: Sequence[bytes]) -> list[bytes]:
    """Return the JSON of a list, given that of its items."""
    head, tail = _list_frame(scope.resource.group_version, scope.dialect.list_kind)
    return [head, *items, tail % json_codec.dumps(metadata)]


@lru_cache(maxsize=256)
def _list_frame(group_version: GroupVersion, list_kind: str) -> tuple[bytes, bytes]:
    """Return the JSON before and after the items of a list; `%b` stands for its metadata."""
    kind = json_codec.dumps(list_kind).replace(b"%", b"%%")
    return b'{"apiVersion":%b,"items":[' % json_codec.dumps(str(group_version)), b'],"kind":%b,"metadata":%%b}\n' % kind


def _document(scope: Scope, metadata: dict[str, Any], result: ListResult) -> list[bytes]:
    """Return the JSON of a list that is sent in Protobuf."""
    make = partial(_without_type_meta, scope=scope) if scope.dialect.typed else _DATA
    return _list_parts(scope, metadata, [b",".join(map(make, result.items))])


def _partial_list_document(convert: Convert, metadata: dict[str, Any], result: ListResult) -> list[bytes]:
    """Return the JSON of a list of metadata that is sent in Protobuf."""
    items = b",".join(partial_bytes(item.data, convert.version) for item in result.items)
    return [partial_list_head(convert.version, metadata), items, TABLE_TAIL]


def _without_type_meta(item: Item, scope: Scope) -> bytes:
    """Return an item without apiVersion and kind, its form in lists of built-in kinds."""
    data = item.data
    version, kind = json_codec.dumps(scope.api_version), json_codec.dumps(scope.kind.kind)
    for prefix in (b'{"kind":%b,"apiVersion":%b,' % (kind, version), b'{"apiVersion":%b,"kind":%b,' % (version, kind)):
        if data.startswith(prefix):
            return b"{" + data[len(prefix) :]
    obj = json_codec.loads(data)
    obj.pop("apiVersion", None)
    obj.pop("kind", None)
    return json_codec.dumps(obj)


def _null(head: bytes) -> list[bytes]:
    """Return an empty list in upstream's form of a nil slice: null in place of the opened array."""
    return [head.removesuffix(b"["), b"null}\n"]


async def success_reply(request: web.BaseRequest, media: MediaType, details: Mapping[str, str], **members: int) -> web.StreamResponse:
    """Send a Status of success with the non-empty details. Never convert it to a Table or metadata."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    body |= {"details": {name: text for name, text in details.items() if text}, **members}
    audit = audit_of(request)
    if audit is not None:
        audit.take_status(body)
    data = json_codec.dumps(body, sort_keys=False)
    if media.type == PROTOBUF:
        return await content_encoding.send(request, media, [status_bytes(body)], document=lambda: (data,))
    return await content_encoding.send(request, media, [data, b"\n"])
