"""A scripted admission webhook, which several servers may call at paths of their own."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from tests.support.scripted_webhook import Json, Reply, ScriptedWebhook, WebhookCall

Operations = Sequence[Mapping[str, Any]]


class AdmissionCall(WebhookCall):
    """One request to the webhook, with an AdmissionReview. Its path is /SIDE/HOOK: the server that calls, and the webhook."""

    @property
    def side(self) -> str:
        """Return the name of the server that calls."""
        return urlsplit(self.path).path.split("/")[1]

    @property
    def hook(self) -> str:
        """Return the webhook that is called."""
        return urlsplit(self.path).path.partition("/")[2].partition("/")[2]

    @property
    def query(self) -> str:
        """Return the query."""
        return urlsplit(self.path).query

    @property
    def request(self) -> Json:
        """Return the request of the review."""
        found: Json = self.review["request"]
        return found


AdmissionAnswer = Callable[[AdmissionCall], Reply | Json]
"""Makes the answer to a call. A document is sent as JSON."""


def answering(review: Json | None = None, **response: Any) -> AdmissionAnswer:
    """Return an answer that allows the request. `response` and `review` replace members of both; None removes a member."""

    def answer(call: AdmissionCall) -> Json:
        members = {"uid": call.request["uid"], "allowed": True} | response
        found = {
            "apiVersion": call.review["apiVersion"],
            "kind": "AdmissionReview",
            "response": {key: value for key, value in members.items() if value is not None},
        }
        return {key: value for key, value in (found | (review or {})).items() if value is not None}

    return answer


ALLOW: Final = answering()


def denying(message: str = "", **status: Any) -> AdmissionAnswer:
    """Return an answer that denies the request with a message and other members of a Status."""
    found = ({"message": message} if message else {}) | status
    return answering(allowed=False, status=found or None)


def patching(*operations: Mapping[str, Any], **response: Any) -> AdmissionAnswer:
    """Return an answer with a JSON patch."""
    return answering(**({"patchType": "JSONPatch", "patch": encoded(operations)} | response))


def encoded(operations: Operations) -> str:
    """Return a JSON patch as in an answer."""
    return base64.b64encode(json.dumps(list(operations)).encode()).decode()


class AdmissionWebhook(ScriptedWebhook[AdmissionCall]):
    """A running webhook, which allows what `answers`, by webhook, does not mention."""

    def __init__(self, folder: Path, **options: Any) -> None:
        """Start the webhook; `options` are those of ScriptedWebhook."""
        self.answers: dict[str, AdmissionAnswer] = {}
        super().__init__(folder, AdmissionCall, self._answer, name="admission-webhook", **options)

    def url(self, side: str, hook: str) -> str:
        """Return the URL at which a server calls a webhook."""
        return f"https://127.0.0.1:{self.port}/{side}/{hook}"

    def client_config(self, side: str, hook: str) -> Json:
        """Return a clientConfig with this URL."""
        return {"url": self.url(side, hook), "caBundle": self.ca_bundle}

    def service(self, side: str, hook: str, name: str = "webhook", namespace: str = "default", **more: Any) -> Json:
        """Return a clientConfig with a Service. Its address is `port` on 127.0.0.1."""
        return {"service": {"name": name, "namespace": namespace, "path": f"/{side}/{hook}"} | more, "caBundle": self.ca_bundle}

    def taken(self, side: str) -> list[AdmissionCall]:
        """Return the calls of a server since the last time, in their order, and forget them."""
        found = [call for call in self.calls if call.side == side]
        self.calls[:] = [call for call in self.calls if call.side != side]
        return found

    def _answer(self, call: AdmissionCall) -> Reply | Json:
        return self.answers.get(call.hook, ALLOW)(call)
