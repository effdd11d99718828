"""Status errors in the reference's words (apimachinery pkg/api/errors)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.base.meta import field
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_MESSAGE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.gvk import GroupKind, GroupResource


def public_text(error: Exception) -> str:
    """Return the text of an error for a status: others read it than those who may read the objects that the error quotes."""
    return getattr(error, "public", None) or str(error)


class StatusError(Exception):
    """An error answer; carries the members of the Status object. A message of more than MAX_MESSAGE_CHARACTERS is cut."""

    plain: StatusError | None = None
    """The different answer of a server without the feature AllowUnsafeMalformedObjectDeletion, if there is one."""
    public: str | None = None
    """The message without what it quotes of stored objects, if it quotes any."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        if len(message) > MAX_MESSAGE_CHARACTERS:
            message = f"{message[:MAX_MESSAGE_CHARACTERS]}... ({len(message) - MAX_MESSAGE_CHARACTERS} more characters)"
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    @property
    def retry_after(self) -> int:
        """Return the seconds of the Retry-After header, 0 for no header."""
        return int((self.details or {}).get("retryAfterSeconds", 0))

    def status(self) -> dict[str, Any]:
        """Return the Status object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        return body | {"code": self.code}


def _details(group: str = "", kind: str = "", name: str = "", **more: Any) -> dict[str, Any]:
    members = {"name": name, "group": group, "kind": kind} | more
    return {key: member for key, member in members.items() if member}


def _of(resource: GroupResource, name: str = "", **more: Any) -> dict[str, Any]:
    return _details(resource.group, resource.resource, name, **more)


def not_found(resource: GroupResource, name: str) -> StatusError:
    """Return a 404 NotFound for an object that does not exist."""
    return StatusError(404, "NotFound", f"{resource} {formatting.quote(name)} not found", _of(resource, name))


def path_not_found() -> StatusError:
    """Return a 404 NotFound for a path that no handler serves."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: GroupResource, name: str) -> StatusError:
    """Return a 409 AlreadyExists for a create of an existing object."""
    return StatusError(409, "AlreadyExists", f"{resource} {formatting.quote(name)} already exists", _of(resource, name))


def generate_name_conflict(resource: GroupResource, name: str, retry_after: int) -> StatusError:
    """Return a 409 AlreadyExists for a generateName without a free name."""
    message = f"{resource} {formatting.quote(name)} already exists, the server was not able to generate a unique name for the object"
    return StatusError(409, "AlreadyExists", message, _of(resource, name, retryAfterSeconds=retry_after))


def conflict(resource: GroupResource, name: str, why: str) -> StatusError:
    """Return a 409 Conflict for a write that is based on an outdated object, or forbidden by the object's state."""
    message = f"Operation cannot be fulfilled on {resource} {formatting.quote(name)}: {why}"
    return StatusError(409, "Conflict", message, _of(resource, name))


def unauthorized() -> StatusError:
    """Return a 401 Unauthorized."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: GroupResource, name: str, why: str) -> StatusError:
    """Return a 403 Forbidden of admission or authorization."""
    if not resource.group and not resource.resource:
        message = f"forbidden: {why}"
    elif not name:
        message = f"{resource} is forbidden: {why}"
    else:
        message = f"{resource} {formatting.quote(name)} is forbidden: {why}"
    return StatusError(403, "Forbidden", message, _of(resource, name))


def expired(message: str) -> StatusError:
    """Return a 410 Expired for a resourceVersion or continue token that is too old."""
    return StatusError(410, "Expired", message)


def invalid(kind: GroupKind, name: str, errors: Sequence[field.FieldError]) -> StatusError:
    """Return a 422 Invalid with the first field errors as causes."""
    errors = field.limited(errors)
    message = f"{kind} {formatting.quote(name)} is invalid"
    if errors:
        message += f": {field.aggregate(errors)}"
    return StatusError(422, "Invalid", message, _details(kind.group, kind.kind, name, causes=[error.cause() for error in errors]))


def bad_request(message: str) -> StatusError:
    """Return a 400 BadRequest."""
    return StatusError(400, "BadRequest", message)


def method_not_supported(resource: GroupResource, action: str) -> StatusError:
    """Return a 405 MethodNotAllowed for a verb that the resource does not support."""
    return StatusError(
        405,
        "MethodNotAllowed",
        f"{action} is not supported on resources of kind {formatting.quote(str(resource))}",
        _of(resource),
    )


def not_acceptable(message: str) -> StatusError:
    """Return a 406 NotAcceptable for a client that accepts no available media type."""
    return StatusError(406, "NotAcceptable", message)


def unsupported_media_type(message: str) -> StatusError:
    """Return a 415 UnsupportedMediaType for a body in an unknown media type."""
    return StatusError(415, "UnsupportedMediaType", message)


def too_large(message: str) -> StatusError:
    """Return a 413 RequestEntityTooLarge."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def too_many_requests(message: str, retry_after: int) -> StatusError:
    """Return a 429 TooManyRequests; `retry_after` is in seconds."""
    return StatusError(429, "TooManyRequests", message, _details(retryAfterSeconds=retry_after))


def service_unavailable(why: str) -> StatusError:
    """Return a 503 ServiceUnavailable."""
    return StatusError(503, "ServiceUnavailable", why)


def server_timeout(resource: GroupResource, operation: str, retry_after: int) -> StatusError:
    """Return a 500 ServerTimeout for an operation that the client can retry after `retry_after` seconds."""
    message = f"The {operation} operation against {resource} could not be completed at this time, please try again."
    return StatusError(500, "ServerTimeout", message, _of(resource, operation, retryAfterSeconds=retry_after))


def timeout(message: str, retry_after: int = 0, causes: Sequence[dict[str, str]] = ()) -> StatusError:
    """Return a 504 Timeout; `retry_after` is in seconds."""
    return StatusError(504, "Timeout", f"Timeout: {message}", _details(retryAfterSeconds=retry_after, causes=list(causes)))


def too_large_resource_version(requested: int, current: int, retry_after: int = 1) -> StatusError:
    """Return a 504 Timeout for a resourceVersion above the store's (storage.NewTooLargeResourceVersionError)."""
    return timeout(
        f"Too large resource version: {requested}, current: {current}",
        retry_after,
        [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
    )


def unknown(message: str) -> StatusError:
    """Return a 500 without a reason, the reference's answer to errors that are not Status errors."""
    return StatusError(500, "", message)


def internal(why: str) -> StatusError:
    """Return a 500 InternalError."""
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})
