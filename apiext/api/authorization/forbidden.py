"""The Status of a forbidden request (apiserver pkg/endpoints/handlers/responsewriters/errors.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta import errors
from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import GroupResource

if TYPE_CHECKING:
    from apiext.base.meta.request import RequestInfo, UserInfo


def forbidden(user: UserInfo, info: RequestInfo, reason: str) -> errors.StatusError:
    """Return the 403 error for a request, with the reason if there is one."""
    message = sanitized(_message(user, info))
    if reason:
        message = f"{message}: {reason}"
    resource = GroupResource(info.group, info.resource)
    return errors.forbidden(resource, info.name, message)


def _message(user: UserInfo, info: RequestInfo) -> str:
    name = formatting.quote(user.name)
    if not info.is_resource:
        return f"User {name} cannot {info.verb} path {formatting.quote(info.path)}"
    resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    what = f"{info.verb} resource {formatting.quote(resource)} in API group {formatting.quote(info.group)}"
    where = f"in the namespace {formatting.quote(info.namespace)}" if info.namespace else "at the cluster scope"
    return f"User {name} cannot {what} {where}"


def sanitized(text: str) -> str:
    """Return the text with HTML characters escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
