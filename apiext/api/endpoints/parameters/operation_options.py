"""The options of a write as plug-ins see them: objects of meta.k8s.io/v1.

Mirrors patchToUpdateOptions, patchToCreateOptions and updateToCreateOptions of apiserver pkg/endpoints/handlers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.parameters.options import UNREADABLE, DeleteQuery, WriteQuery
from apiext.api.endpoints.serializers.negotiation import META_GROUP
from apiext.base.meta.request import AdmissionOperation

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_KINDS: Final = {AdmissionOperation.CREATE: "CreateOptions", AdmissionOperation.UPDATE: "UpdateOptions"}
_API_VERSION: Final = f"{META_GROUP}/v1"
_DRY_RUN: Final = ["All"]


def operation_options(operation: AdmissionOperation, query: WriteQuery | DeleteQuery) -> Object:
    """Return the options of an operation. A patch is an update, and an update that creates is a create."""
    if isinstance(query, DeleteQuery):
        return _delete_options(query)
    options: Object = {"kind": _KINDS[operation], "apiVersion": _API_VERSION}
    if query.dry_run:
        options["dryRun"] = _DRY_RUN
    if query.field_manager:
        options["fieldManager"] = query.field_manager
    if query.given_validation:
        options["fieldValidation"] = query.given_validation
    return options


def pinned_options(query: DeleteQuery, uid: str) -> Object:
    """Return the options of a deletion whose registry adds the uid of the object to the preconditions."""
    options = _delete_options(query)
    return options | {"preconditions": {"uid": uid, **(options.get("preconditions") or {})}}


def _delete_options(query: DeleteQuery) -> Object:
    wanted = query.preconditions
    conditions = {} if wanted is None else {"uid": wanted.uid, "resourceVersion": wanted.resource_version}
    members = {
        "gracePeriodSeconds": query.grace_period_seconds,
        "preconditions": None if wanted is None else {name: text for name, text in conditions.items() if text is not None},
        "orphanDependents": query.orphan_dependents,
        "propagationPolicy": query.propagation_policy,
        "dryRun": list(query.dry_run) or None,
        UNREADABLE: query.ignore_read_error or None,
    }
    given = {name: member for name, member in members.items() if member is not None}
    return {"kind": "DeleteOptions", "apiVersion": _API_VERSION, **given}
