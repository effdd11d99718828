"""Writes and a fake host for tests of plug-ins."""

from dataclasses import replace
from typing import Any

import orjson

from apiext.api.admission.attributes import Attributes
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import AdmissionOperation, UserInfo
from apiext.base.webhook.client import WebhookError


def widget(**more: object) -> Attributes:
    """Return the attributes of a widget's creation."""
    attributes = Attributes(
        operation=AdmissionOperation.CREATE,
        kind=GroupVersionKind("example.com", "v1", "Widget"),
        resource=GroupVersionResource("example.com", "v1", "widgets"),
        user=UserInfo("me"),
        namespace="n",
        name="w",
        new={"metadata": {"name": "w"}},
    )
    return replace(attributes, **more)  # type: ignore[arg-type]


class Host:
    """A host with fixed answers by method and path; code 0 is a refused connection."""

    def __init__(self, **answers: tuple[int, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    async def __call__(self, path: str, *, method: str = "GET", body: Any = None) -> tuple[int, bytes]:
        """Record the call and answer it."""
        self.asked.append(f"{method} {path}")
        code, answer = self.answer(method, path, body)
        if not code:
            raise WebhookError(f'{method.capitalize()} "{path}": connection refused')
        return code, answer if isinstance(answer, bytes) else orjson.dumps(answer)

    def answer(self, method: str, path: str, _body: Any) -> tuple[int, Any]:
        """Return status code and content."""
        return self.answers.get(f"{method} {path}", error_status(404, "NotFound", "not found"))


def error_status(code: int, reason: str, message: str) -> tuple[int, Any]:
    """Return an answer with an error Status."""
    return code, {"kind": "Status", "code": code, "reason": reason, "message": message, "details": {"name": "it"}}
