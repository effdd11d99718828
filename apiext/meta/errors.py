"""Status errors: what a client is told, in the reference's words (apimachinery pkg/api/errors)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apiext.meta import field, go_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.gvk import GroupKind, GroupResource


class StatusError(Exception):
    """An answer other than success; carries all that the Status object holds."""

    def __init__(self, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    @property
    def retry_after(self) -> int:
        """Seconds for the Retry-After header, 0 for none."""
        return int((self.details or {}).get("retryAfterSeconds", 0))

    def status(self) -> dict[str, Any]:
        """The Status object."""
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
    """404 for an object that is not there."""
    return StatusError(404, "NotFound", f"{resource} {go_format.quote(name)} not found", _of(resource, name))


def path_not_found() -> StatusError:
    """404 for a path that nothing serves."""
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(resource: GroupResource, name: str) -> StatusError:
    """409 for a create of what exists."""
    return StatusError(409, "AlreadyExists", f"{resource} {go_format.quote(name)} already exists", _of(resource, name))


def generate_name_conflict(resource: GroupResource, name: str, retry_after: int) -> StatusError:
    """409 when no free name was found for a generateName."""
    message = f"{resource} {go_format.quote(name)} already exists, the server was not able to generate a unique name for the object"
    return StatusError(409, "AlreadyExists", message, _of(resource, name, retryAfterSeconds=retry_after))


def conflict(resource: GroupResource, name: str, why: str) -> StatusError:
    """409 for a write based on an outdated object, or one that its state forbids."""
    message = f"Operation cannot be fulfilled on {resource} {go_format.quote(name)}: {why}"
    return StatusError(409, "Conflict", message, _of(resource, name))


def unauthorized(why: str) -> StatusError:
    """401."""
    return StatusError(401, "Unauthorized", why or "not authorized")


def forbidden(resource: GroupResource, name: str, why: str) -> StatusError:
    """403 in the form of an admission or authorization refusal."""
    if not resource.group and not resource.resource:
        message = f"forbidden: {why}"
    elif not name:
        message = f"{resource} is forbidden: {why}"
    else:
        message = f"{resource} {go_format.quote(name)} is forbidden: {why}"
    return StatusError(403, "Forbidden", message, _of(resource, name))


def gone(message: str) -> StatusError:
    """410 with reason Gone."""
    return StatusError(410, "Gone", message)


def expired(message: str) -> StatusError:
    """410 with reason Expired: a resourceVersion or continue token too old to serve."""
    return StatusError(410, "Expired", message)


def invalid(kind: GroupKind, name: str, errors: Sequence[field.FieldError]) -> StatusError:
    """422 made of field errors."""
    message = f"{kind} {go_format.quote(name)} is invalid"
    if errors:
        message += f": {field.aggregate(errors)}"
    return StatusError(422, "Invalid", message, _details(kind.group, kind.kind, name, causes=[error.cause() for error in errors]))


def bad_request(message: str) -> StatusError:
    """400."""
    return StatusError(400, "BadRequest", message)


def method_not_supported(resource: GroupResource, action: str) -> StatusError:
    """405 for a verb that the resource does not have."""
    return StatusError(
        405,
        "MethodNotAllowed",
        f"{action} is not supported on resources of kind {go_format.quote(str(resource))}",
        _of(resource),
    )


def not_acceptable(message: str) -> StatusError:
    """406 when no media type that the client accepts can be given."""
    return StatusError(406, "NotAcceptable", message)


def unsupported_media_type(message: str) -> StatusError:
    """415 for a body in a media type that cannot be read."""
    return StatusError(415, "UnsupportedMediaType", message)


def too_large(message: str) -> StatusError:
    """413."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def too_many_requests(message: str, retry_after: int) -> StatusError:
    """429 with a time to wait in seconds."""
    return StatusError(429, "TooManyRequests", message, _details(retryAfterSeconds=retry_after))


def service_unavailable(why: str) -> StatusError:
    """503."""
    return StatusError(503, "ServiceUnavailable", why)


def server_timeout(resource: GroupResource, operation: str, retry_after: int) -> StatusError:
    """500 ServerTimeout: an operation that may be tried again."""
    message = f"The {operation} operation against {resource} could not be completed at this time, please try again."
    return StatusError(500, "ServerTimeout", message, _of(resource, operation, retryAfterSeconds=retry_after))


def timeout(message: str, retry_after: int = 0, causes: Sequence[dict[str, str]] = ()) -> StatusError:
    """504 with a time to wait in seconds."""
    return StatusError(504, "Timeout", f"Timeout: {message}", _details(retryAfterSeconds=retry_after, causes=list(causes)))


def too_large_resource_version(requested: int, current: int, retry_after: int = 1) -> StatusError:
    """504 for a resourceVersion that the store has not reached (storage.NewTooLargeResourceVersionError)."""
    return timeout(
        f"Too large resource version: {requested}, current: {current}",
        retry_after,
        [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
    )


def unknown(message: str) -> StatusError:
    """500 without a reason: how the reference answers with an error that is none of its own kinds."""
    return StatusError(500, "", message)


def internal(why: str) -> StatusError:
    """500."""
    return StatusError(500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]})
