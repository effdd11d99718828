"""DeleteOptions in the body or in the query of a delete (apiserver pkg/endpoints/handlers/delete.go)."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, Final

from aiohttp import web

from apiext.api.endpoints.handlers.body import TYPE_META_ERROR, parse_body, read_body, type_meta, unregistered_kind
from apiext.api.endpoints.parameters.options import UNREADABLE, DeleteQuery, check_delete, delete_query
from apiext.api.endpoints.parameters.query_parameters import Query
from apiext.api.endpoints.request import AUTHORIZE, USER, WORKERS, audit_of
from apiext.api.endpoints.serializers.negotiation import JSON, YAML, input_type
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_decoder import BodyDecodeError
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import Decoder
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.limits import MAX_INLINE_BYTES, MAX_INLINE_YAML_BYTES
from apiext.resources.registry.protobuf.kinds import message_of
from apiext.storage.interface import Preconditions

_KIND: Final = "DeleteOptions"
_INTERNAL: Final = "meta.k8s.io/__internal"
_META: Final = "meta.k8s.io/v1"
_OPTIONS: Final = struct(
    _KIND,
    "TypeMeta, 1 gracePeriodSeconds *int64, 2 preconditions *Preconditions, 3 orphanDependents *bool,"
    f"4 propagationPolicy *v1.DeletionPropagation, 5 dryRun []string, 6 {UNREADABLE} *bool",
    struct("Preconditions", "1 uid *types.UID, 2 resourceVersion *string"),
)
_PROTOBUF: Final = message_of(_OPTIONS)


async def read_delete_options(request: web.BaseRequest, query: Query, limit: int) -> DeleteQuery:
    """Read and validate the options.

    Raises:
        StatusError: 400 or 415 for a body that can not be decoded, 413 for one above the limit in bytes, 422 for invalid options.
    """
    data, authorized = await read_body(request, limit), AUTHORIZE in request
    if not data:
        return _checked(delete_query(query), authorized=authorized)
    media_type = input_type(request, protobuf=True)
    audit = audit_of(request)
    record = audit.write_record() if audit is not None else None
    work = partial(_decoded, data, media_type, shown=record is not None and record.with_body)
    # aliases, which no client needs here, may stand for much
    large = len(data) > MAX_INLINE_YAML_BYTES or b"*" in data if media_type == YAML else len(data) > MAX_INLINE_BYTES
    found, shown = await request[WORKERS].call(work, user=request[USER].name) if large else work()
    if record is not None:
        record.take_body(shown)
    return _checked(found, authorized=authorized)


def _checked(options: DeleteQuery, *, authorized: bool) -> DeleteQuery:
    """Return valid options. Ignore the option for unreadable objects without authorization. Keep one of many equal dryRun values."""
    if options.ignore_read_error and not authorized:
        options = dataclasses.replace(options, ignore_read_error=False)
    check_delete(options)
    return dataclasses.replace(options, dry_run=options.dry_run[:1]) if len(options.dry_run) > 1 else options


def _decoded(data: bytes, media_type: str, *, shown: bool) -> tuple[DeleteQuery, bytes]:
    """Return the options and, if they are to be `shown`, their JSON for the audit event."""
    try:
        parsed, _ = parse_body(data, media_type, _PROTOBUF)
    except BodyDecodeError as error:
        prefix = TYPE_META_ERROR if media_type == JSON else ""
        raise errors.bad_request(f"{prefix}{error}") from error
    try:
        return _decode(parsed), json_codec.dumps(_shown(parsed), sort_keys=False) if shown else b""
    except ValueError as error:
        raise errors.bad_request(str(error)) from error


def _shown(parsed: Any) -> dict[str, Any]:
    """Return decoded options as the reference records them."""
    body, _, kind = type_meta(parsed)
    options: dict[str, Any] = _OPTIONS.canonical(body)
    return {**options, "kind": kind or _KIND, "apiVersion": _INTERNAL}


def _decode(parsed: Any) -> DeleteQuery:
    body, version, kind = type_meta(parsed)
    parse_group_version(version)
    version, kind = version or _META, kind or _KIND
    if kind != _KIND:
        raise unregistered_kind(kind, version)
    Decoder(report=False).run(_OPTIONS, body)
    given = body.get("preconditions")
    preconditions = None if given is None else Preconditions(given.get("uid"), given.get("resourceVersion"))
    return DeleteQuery(
        grace_period_seconds=body.get("gracePeriodSeconds"),
        orphan_dependents=body.get("orphanDependents"),
        propagation_policy=body.get("propagationPolicy"),
        dry_run=tuple(item or "" for item in body.get("dryRun") or ()),
        preconditions=preconditions,
        ignore_read_error=bool(body.get(UNREADABLE)),
    )
