"""The slow way to an event's JSON: a dict, and an encoder."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from apiext.api.audit.event import AuditEvent
from apiext.api.audit.levels import AuditLevel
from apiext.api.audit.request_record import RequestRecord
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.request import RequestInfo, UserInfo


def plain(event: AuditEvent) -> Any:
    """Return what a reader of the event finds, according to the struct of audit.k8s.io/v1."""
    return json.loads(json_codec.dumps({key: value for key, value in _members(event).items() if value is not None}))


def _members(event: AuditEvent) -> dict[str, Any]:
    context, info, status = event.context, event.context.info, event.status
    constraint = context.constraint if event.impersonated is not None else ""
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": {AuditLevel.METADATA: "Metadata", AuditLevel.REQUEST: "Request"}.get(context.settings.level, "RequestResponse"),
        "auditID": context.audit_id,
        "stage": event.stage.value,
        "requestURI": context.uri,
        "verb": "" if info is None else info.verb,
        "user": _user(context.user),
        "impersonatedUser": None if event.impersonated is None else _user(event.impersonated),
        "authenticationMetadata": {"impersonationConstraint": constraint} if constraint else None,
        "sourceIPs": list(context.client.source_ips) or None,
        "userAgent": context.client.user_agent or None,
        "objectRef": _reference(info, event.record) if info is not None and info.is_resource else None,
        "responseStatus": None if status is None else {"metadata": {}, **status},
        "requestObject": None if event.request_object is None else json.loads(event.request_object),
        "responseObject": None if event.response_object is None else json.loads(b"".join(event.response_object)),
        "requestReceivedTimestamp": _time(context.received),
        "stageTimestamp": _time(event.moment),
        "annotations": event.annotations or None,
    }


def _user(user: UserInfo | None) -> dict[str, Any]:
    if user is None:
        return {}
    extra = {key: list(values) for key, values in user.extra.items()}
    return _filled({"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra})


def _reference(info: RequestInfo, record: RequestRecord | None) -> dict[str, Any]:
    known = record or RequestRecord()
    members = {
        "resource": info.resource,
        "namespace": info.namespace or known.namespace,
        "name": info.name or known.name,
        "uid": known.uid,
        "apiGroup": info.group,
        "apiVersion": info.version,
        "resourceVersion": known.resource_version,
        "subresource": info.subresource,
    }
    return _filled(members)


def _filled(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value}


def _time(moment: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment // 1000)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
