"""Requests of plug-ins to the host cluster."""

from __future__ import annotations

from typing import Any, Protocol

from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.webhook.client import WebhookError


class HostRequest(Protocol):
    """Sends one request to the host; returns status code and body of the answer. Raises WebhookError without an answer."""

    async def __call__(self, path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        """Send the request."""
        ...


async def ask_for(ask: HostRequest, path: str, *, method: str = "GET", body: Any = None) -> dict[str, Any]:
    """Return the object in the host's answer.

    Raises:
        StatusError: the host's own error Status, or 500 without a valid answer.
    """
    try:
        code, data = await ask(path, method=method, body=body)
    except WebhookError as error:
        raise errors.unknown(str(error)) from error
    return read_answer(code, data)


def read_answer(code: int, data: bytes) -> dict[str, Any]:
    """Return the object in an answer of the host. Raises StatusError as `ask_for`."""
    try:
        answer = json_codec.loads(data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise errors.unknown(f"invalid answer with code {code}")
    if not 200 <= code < 300:
        raise errors.StatusError(code, str(answer.get("reason", "")), str(answer.get("message", "")), answer.get("details"))
    return answer
