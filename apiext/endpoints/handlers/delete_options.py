"""The options of a delete, in its body or in the query (apiserver pkg/endpoints/handlers/delete.go)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from apiext.endpoints.handlers.body import INTERPRETED, parse_body, read_body, unregistered_kind
from apiext.endpoints.handlers.options import UNREADABLE, DeleteQuery, check_delete, delete_query
from apiext.endpoints.request import AUTHORIZE
from apiext.endpoints.serializers.json_decoder import DecodeError, NumberError, as_spelled, go_kind
from apiext.endpoints.serializers.negotiation import JSON, RESOURCE_OFFERS, input_type
from apiext.meta import errors
from apiext.meta.go_types import Bool, Decoder, Field, Int, Pointer, Slice, String, Struct
from apiext.meta.gvk import parse_group_version
from apiext.registry.protobuf import Message, Scalar
from apiext.registry.request_context import DeleteOptions
from apiext.storage.interface import Preconditions

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.query_parameters import Query
    from apiext.registry.request_context import Admit

_KIND: Final = "DeleteOptions"
_INTERPRETING: Final = "couldn't get version/kind; json parse error: "
_META: Final = "meta.k8s.io/v1"
_UNVERSIONED: Final = frozenset({"Status", "CreateOptions", "UpdateOptions", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"})
"""Other kinds that every endpoint knows, in all versions."""
_OF_META: Final = frozenset(
    {
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "WatchEvent",
        "Table",
        "TableOptions",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
    }
)
_TEXT: Final = String()
_PRECONDITIONS: Final = Struct("Preconditions").define(Field("uid", Pointer(String("types.UID"))), Field("resourceVersion", Pointer(_TEXT)))
_OPTIONS: Final = Struct(_KIND).define(
    Field("kind", _TEXT, embedded=("TypeMeta",)),
    Field("apiVersion", _TEXT, embedded=("TypeMeta",)),
    Field("gracePeriodSeconds", Pointer(Int(64))),
    Field("preconditions", Pointer(_PRECONDITIONS)),
    Field("orphanDependents", Pointer(Bool())),
    Field("propagationPolicy", Pointer(String("v1.DeletionPropagation"))),
    Field("dryRun", Slice(_TEXT)),
    Field(UNREADABLE, Pointer(Bool())),
)
_WIRE: Final = Message(
    {
        1: ("gracePeriodSeconds", Scalar.INT),
        2: ("preconditions", Message({1: ("uid", Scalar.TEXT), 2: ("resourceVersion", Scalar.TEXT)})),
        3: ("orphanDependents", Scalar.BOOL),
        4: ("propagationPolicy", Scalar.TEXT),
        5: ("dryRun", Scalar.TEXT),
        6: (UNREADABLE, Scalar.BOOL),
    },
    repeated={"dryRun"},
)


async def read_delete_options(request: web.BaseRequest, query: Query, limit: int) -> DeleteQuery:
    """The options, checked. Raises StatusError: 400 and 415 for a body that cannot be read, 422 for what is not allowed."""
    data = await read_body(request, limit)
    if data:
        media_type = input_type(request.headers.get("Content-Type", ""), RESOURCE_OFFERS, protobuf=True)
        try:
            asked = await _parsed(data, media_type)
        except DecodeError as error:
            prefix = _INTERPRETING if media_type == JSON else ""
            raise errors.bad_request(f"{prefix}{error}") from error
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
    else:
        asked = delete_query(query)
    if asked.ignore_read_error and AUTHORIZE not in request:
        asked = dataclasses.replace(asked, ignore_read_error=False)
    check_delete(asked)
    return asked


async def _parsed(data: bytes, media_type: str) -> DeleteQuery:
    try:
        parsed, _ = await parse_body(data, media_type, _WIRE)
    except NumberError as error:
        parsed = error.value
    try:
        return _decode(parsed)
    except ValueError as error:
        if media_type != JSON:
            raise
        raise type(error)(as_spelled(str(error), data)) from error


def _decode(parsed: Any) -> DeleteQuery:
    body = {} if parsed is None else parsed
    if not isinstance(body, dict):
        raise ValueError(f"{_INTERPRETING}json: cannot unmarshal {go_kind(body)} into Go value of type {INTERPRETED}")  # noqa: TRY004
    for name in ("apiVersion", "kind"):
        if not isinstance(body.get(name), str | None):
            raise ValueError(f"{_INTERPRETING}json: cannot unmarshal {go_kind(body[name])} into Go struct field .{name} of type string")  # noqa: TRY004
    version, kind = body.get("apiVersion") or _META, body.get("kind") or _KIND
    parse_group_version(version)
    if kind != _KIND:
        if kind in _UNVERSIONED or (kind in _OF_META and version == _META):
            raise ValueError(f"converting (v1.{kind}) to (v1.{_KIND}): unknown conversion")
        raise unregistered_kind(kind, version)
    Decoder(report=False).run(_OPTIONS, body)
    wanted = body.get("preconditions")
    preconditions = None if wanted is None else Preconditions(wanted.get("uid"), wanted.get("resourceVersion"))
    return DeleteQuery(
        grace_period_seconds=body.get("gracePeriodSeconds"),
        orphan_dependents=body.get("orphanDependents"),
        propagation_policy=body.get("propagationPolicy"),
        dry_run=tuple(item or "" for item in body.get("dryRun") or ()),
        preconditions=preconditions,
        ignore_read_error=bool(body.get(UNREADABLE)),
    )


def registry_options(asked: DeleteQuery, admit: Admit | None) -> DeleteOptions:
    """The options as the registry takes them."""
    return DeleteOptions(
        grace_period_seconds=asked.grace_period_seconds,
        preconditions=asked.preconditions,
        orphan_dependents=asked.orphan_dependents,
        propagation_policy=asked.propagation_policy,
        dry_run=bool(asked.dry_run),
        admit=admit,
    )
