"""The options of a delete, in its body or in the query (apiserver pkg/endpoints/handlers/delete.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.endpoints.body import INTERPRETED, parse_body, read_body, unregistered_kind
from apiext.endpoints.jsonbody import DecodeError, go_kind
from apiext.endpoints.negotiation import JSON, RESOURCE_OFFERS, input_type
from apiext.endpoints.options import DeleteQuery, check_delete, delete_query
from apiext.meta import errors
from apiext.meta.gotypes import Bool, Decoder, Field, Int, Pointer, Slice, String, Struct
from apiext.meta.gvk import parse_group_version
from apiext.registry.context import DeleteOptions
from apiext.registry.protobuf import Message, Scalar
from apiext.storage.interface import Preconditions

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.query import Query
    from apiext.registry.context import Admit

_KIND: Final = "DeleteOptions"
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
    Field("ignoreStoreReadErrorWithClusterBreakingPotential", Pointer(Bool())),
)
_WIRE: Final = Message(
    {
        1: ("gracePeriodSeconds", Scalar.INT),
        2: ("preconditions", Message({1: ("uid", Scalar.TEXT), 2: ("resourceVersion", Scalar.TEXT)})),
        3: ("orphanDependents", Scalar.BOOL),
        4: ("propagationPolicy", Scalar.TEXT),
        5: ("dryRun", Scalar.TEXT),
    },
    repeated={"dryRun"},
)


async def read_delete_options(request: web.BaseRequest, query: Query, limit: int) -> DeleteQuery:
    """The options, checked. Raises StatusError: 400 and 415 for a body that cannot be read, 422 for what is not allowed."""
    data = await read_body(request, limit)
    if data:
        media_type = input_type(request.headers.get("Content-Type", ""), RESOURCE_OFFERS, protobuf=True)
        try:
            parsed, _ = await parse_body(data, media_type, _WIRE)
            asked = _decode(parsed)
        except DecodeError as error:
            prefix = "" if media_type != JSON else "couldn't get version/kind; json parse error: "
            raise errors.bad_request(f"{prefix}{error}") from error
        except ValueError as error:
            raise errors.bad_request(str(error)) from error
    else:
        asked = delete_query(query)
    check_delete(asked)
    return asked


def _decode(parsed: Any) -> DeleteQuery:
    body = {} if parsed is None else parsed
    if not isinstance(body, dict):
        raise DecodeError(f"json: cannot unmarshal {go_kind(body)} into Go value of type {INTERPRETED}")
    for name in ("apiVersion", "kind"):
        if not isinstance(body.get(name) or "", str):
            raise DecodeError(f"json: cannot unmarshal {go_kind(body[name])} into Go struct field .{name} of type string")
    version, kind = body.get("apiVersion") or "meta.k8s.io/v1", body.get("kind") or _KIND
    parse_group_version(version)
    if kind != _KIND:
        raise unregistered_kind(kind, version)
    Decoder(report=False).run(_OPTIONS, body)
    preconditions = body.get("preconditions") or {}
    return DeleteQuery(
        grace_period_seconds=body.get("gracePeriodSeconds"),
        orphan_dependents=body.get("orphanDependents"),
        propagation_policy=body.get("propagationPolicy"),
        dry_run=tuple(item or "" for item in body.get("dryRun") or ()),
        precondition_uid=preconditions.get("uid"),
        precondition_resource_version=preconditions.get("resourceVersion"),
    )


def registry_options(asked: DeleteQuery, admit: Admit | None) -> DeleteOptions:
    """The options as the registry takes them."""
    preconditions = None
    if asked.precondition_uid is not None or asked.precondition_resource_version is not None:
        preconditions = Preconditions(asked.precondition_uid, asked.precondition_resource_version)
    return DeleteOptions(
        grace_period_seconds=asked.grace_period_seconds,
        preconditions=preconditions,
        orphan_dependents=asked.orphan_dependents,
        propagation_policy=asked.propagation_policy,
        dry_run=bool(asked.dry_run),
        admit=admit,
    )
