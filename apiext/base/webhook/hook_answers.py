"""The answers of webhooks that are no success, in the words of client-go (rest/request.go, rest/with_retry.go)."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import orjson

from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_HOOK_STATUS_BYTES

if TYPE_CHECKING:
    from apiext.base.webhook.http1.answer import HttpAnswer

_MAX_DIGITS: Final = 9
"""Maximum of digits in Retry-After; longer values are ignored."""
_MAX_SHOWN: Final = 2048
"""Bytes of an answer that an error shows."""
_TOO_MANY_REQUESTS: Final = int(HTTPStatus.TOO_MANY_REQUESTS)
_SERVER_ERROR: Final = int(HTTPStatus.INTERNAL_SERVER_ERROR)
_SUCCESS: Final = range(HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT + 1)
_OF_PROXIES: Final = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
"""Codes of a proxy's answers for a webhook that does not answer."""


class HookError(Exception):
    """A call of a webhook failed, or its answer is an error. The text is the reference's."""

    def __init__(self, message: str, *, answered: bool = False, code: int = HTTPStatus.SERVICE_UNAVAILABLE) -> None:
        super().__init__(message)
        self.answered = answered
        """Whether there is an answer: the webhook may accept another call."""
        self.code = code
        """The status code of an answer, 503 without one."""


def check_answer(answer: HttpAnswer) -> None:
    """Check that an answer is a success and has a body.

    Raises:
        HookError: it is none.
    """
    if answer.status not in _SUCCESS:
        message, code = _refusal(answer)
        raise HookError(message, answered=answer.status not in _OF_PROXIES, code=code)
    if not answer.body:
        content_type = answer.headers.get("Content-Type") or "application/json"
        raise HookError(f"0-length response with status code: {answer.status} and content type: {content_type}", answered=True)


def retry_after(answer: HttpAnswer) -> int | None:
    """Return the seconds in the Retry-After of a busy webhook, None without a valid one."""
    # each use of a member of HTTPStatus takes Python 3.11 as long as the rest of this function
    if answer.status < _SERVER_ERROR and answer.status != _TOO_MANY_REQUESTS:
        return None
    text = answer.headers.get("Retry-After", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else None


_MESSAGES: Final = {
    HTTPStatus.CONFLICT: "the server reported a conflict",
    HTTPStatus.NOT_FOUND: "the server could not find the requested resource",
    HTTPStatus.BAD_REQUEST: "the server rejected our request for an unknown reason",
    HTTPStatus.UNAUTHORIZED: "the server has asked for the client to provide credentials",
    HTTPStatus.METHOD_NOT_ALLOWED: "the server does not allow this method on the requested resource",
    HTTPStatus.UNPROCESSABLE_ENTITY: "the server rejected our request due to an error in our request",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server is currently unable to handle the request",
    HTTPStatus.GATEWAY_TIMEOUT: "the server was unable to return a response in the time allotted, but may still be processing the request",
    HTTPStatus.TOO_MANY_REQUESTS: "the server has received too many requests and has asked us to try again later",
}
_SHOWS_BODY: Final = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_ACCEPTABLE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE})
_NOT_ACCEPTABLE: Final = "the server was unable to respond with a content type that the client supports"


def _refusal(answer: HttpAnswer) -> tuple[str, int]:
    """Return the message and code of the Status in an unsuccessful answer, else the reference's text for the answer's code."""
    try:
        status = orjson.loads(answer.body) if len(answer.body) <= MAX_HOOK_STATUS_BYTES else None
    except ValueError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("status") == "Failure":
        return str(status.get("message") or ""), found if type(found := status.get("code")) is int else 0
    return _explained(answer), answer.status


def _explained(answer: HttpAnswer) -> str:
    """Return the reference's text for the code of an answer (apimachinery NewGenericServerResponse)."""
    code = answer.status
    content_type = answer.headers.get("Content-Type", "")
    is_text = not content_type or content_type.lower().startswith("text/")
    body = formatting.trim_space(answer.body[:_MAX_SHOWN].decode(errors="replace")) if is_text else "unknown"
    if code in _SHOWS_BODY:
        return _NOT_ACCEPTABLE if code == HTTPStatus.NOT_ACCEPTABLE and body in {"", "unknown"} else body
    if code in _MESSAGES:
        return _MESSAGES[HTTPStatus(code)]
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return f"an error on the server ({formatting.quote(body)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
