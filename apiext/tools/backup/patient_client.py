"""A client of a server that may be overloaded, or not have loaded a definition yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.scheduling.backoff import Backoff
from apiext.base.webhook.client import WebhookError
from apiext.storage.backups.stored_pairs import BackupError

if TYPE_CHECKING:
    from apiext.base.webhook.client import WebhookClient

_PAUSE_SECONDS: Final = 0.1
_MAX_PAUSE_SECONDS: Final = 2.0
_ATTEMPTS: Final = 8
_RETRIED: Final = frozenset({429, 503})


class PatientClient:
    """Sends requests, and sends them again while the server answers 429 or 503."""

    def __init__(self, client: WebhookClient) -> None:
        self._client = client

    async def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """Return the code and the JSON content of an answer.

        Raises:
            BackupError: the server does not answer.
        """
        backoff = Backoff(_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)
        attempts = 1
        code, data = await self._once(method, path, body)
        while code in _RETRIED and attempts < _ATTEMPTS:
            await backoff.pause()
            code, data = await self._once(method, path, body)
            attempts += 1
        try:
            answer = json_codec.loads(data)
        except ValueError:
            answer = {"message": data.decode(errors="replace").strip()[:200]}
        return code, answer if isinstance(answer, dict) else {"message": str(answer)[:200]}

    async def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        try:
            return await self._client.ask(path, method=method, body=body)
        except WebhookError as error:
            raise BackupError(str(error)) from error


def message_of(answer: Any) -> str:
    """Return the message of an answer that refuses a request."""
    return str(answer.get("message") or "no reason is given")
