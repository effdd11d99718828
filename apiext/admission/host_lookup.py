"""What plug-ins ask the cluster around the server, the host, and what its refusals become."""

from __future__ import annotations

from typing import Any, Final, Protocol

from apiext.meta import errors, json_codec
from apiext.webhook.client import WebhookError

_OK: Final = 200
_BAD: Final = 300


class Ask(Protocol):
    """One call of the host: code and content of the answer; raises WebhookError without one."""

    async def __call__(self, path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        """Call it."""
        ...


async def ask_for(ask: Ask, path: str, *, method: str = "GET", body: Any = None) -> dict[str, Any]:
    """The object that the host answers with. Raises StatusError: its refusal as it is, or 500 where it does not answer."""
    try:
        code, data = await ask(path, method=method, body=body)
    except WebhookError as error:
        raise errors.unknown(str(error)) from error
    try:
        answer = json_codec.loads(data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise errors.unknown(f"an answer with code {code} that cannot be used")
    if not _OK <= code < _BAD:
        raise errors.StatusError(code, str(answer.get("reason", "")), str(answer.get("message", "")), answer.get("details"))
    return answer
