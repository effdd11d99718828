"""The refusal in the reference's words (apiserver pkg/endpoints/handlers/responsewriters/errors.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import errors, go_format
from apiext.meta.gvk import GroupResource

if TYPE_CHECKING:
    from apiext.meta.request import RequestInfo, UserInfo


def forbidden(user: UserInfo, info: RequestInfo, reason: str) -> errors.StatusError:
    """403 that says who cannot do what, and why where that is known."""
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
    """Nothing that a browser could take for HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
