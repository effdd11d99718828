"""Failed calls of webhooks, and denials (apiserver pkg/util/webhook/error.go, plugin/webhook/errors/statuserror.go)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import StatusError, bad_request
from apiext.base.meta.golang import formatting

_MAX_CODE = 999
"""The largest status code that HTTP can transport."""


class HookCallError(Exception):
    """A webhook could not be asked, or its answer is invalid: its failurePolicy decides. The text is the reference's."""

    def __init__(self, hook: str, reason: str, code: int) -> None:
        super().__init__(f"failed calling webhook {formatting.quote(hook)}: {reason}")
        self.code = code
        """The status code in metrics."""


class DenialError(StatusError):
    """A webhook denies a write. The client gets the webhook's Status."""

    def __init__(self, status: Object) -> None:
        code = status["code"]
        super().__init__(
            code if code <= _MAX_CODE else HTTPStatus.INTERNAL_SERVER_ERROR,
            status.get("reason") or "",
            status["message"],
            status.get("details"),
        )
        self._given = status
        self.given_code: int = code
        """The code that the webhook has set, in metrics."""

    def status(self) -> dict[str, Any]:
        """Return the Status object, with the metadata and the status that the webhook has set."""
        return super().status() | {"metadata": self._given.get("metadata") or {}, "status": self._given["status"]}


def denial(hook: str, status: Object | None) -> DenialError:
    """Return the error of a webhook that does not allow a request, with a canonical Status of its answer or without one."""
    found = dict(status or {})
    if found.get("code", 0) < HTTPStatus.BAD_REQUEST:
        found["code"] = int(HTTPStatus.BAD_REQUEST)
    if found.get("status", "") in {"", "Success"}:
        found["status"] = "Failure"
    denied = f"admission webhook {formatting.quote(hook)} denied the request"
    why = found.get("message") or found.get("reason")
    found["message"] = f"{denied}: {why}" if why else f"{denied} without explanation"
    return DenialError(found)


def no_dry_run(hook: str) -> StatusError:
    """Return the error of a dry run that a webhook with side effects would see."""
    return bad_request(f"admission webhook {formatting.quote(hook)} does not support dry run")
