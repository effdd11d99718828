"""The Status of a forbidden request (apiserver pkg/endpoints/handlers/responsewriters/errors.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import errors, go_format
from apiext.meta.gvk import GroupResource

if TYPE_CHECKING:
    from apiext.meta.request import RequestInfo, UserInfo


def forbidden(user: UserInfo, info: RequestInfo, reason: str) -> errors.StatusError:
    """Return the 403 error for a request, with the reason where there is one."""
    message = sanitized(_message(user, info))
    if reason:
        message = f"{message}: {reason}"
    resource = GroupResource(info.group, info.resource)
    return errors.forbidden(resource, info.name, message)


def _message(user: UserInfo, info: RequestInfo) -> str:
    name = go_format.quote(user.name)
    if not info.is_resource:
        return f"User {name} cannot {info.verb} path {go_format.quote(info.path)}"
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    what = f"{info.verb} resource {go_format.quote(resource)} in API group {go_format.quote(info.group)}"
    where = f"in the namespace {go_format.quote(info.namespace)}" if info.namespace else "at the cluster scope"
    return f"User {name} cannot {what} {where}"


def sanitized(text: str) -> str:
    """Return the text with HTML characters escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
