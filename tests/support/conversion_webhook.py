"""A scripted conversion webhook."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hack.lib.servers.certificates import LOOPBACK
from tests.support.scripted_webhook import BREAK, HANG, Json, Reply, ScriptedWebhook, WebhookCall

__all__ = [
    "BREAK",
    "HANG",
    "Answer",
    "Call",
    "ConversionWebhook",
    "Json",
    "Reply",
    "conversion_webhook",
    "converting",
    "failing",
    "reviewed",
]


class Call(WebhookCall):
    """One request to the webhook, with a ConversionReview."""

    @property
    def objects(self) -> list[Json]:
        """Return the objects to convert."""
        found: list[Json] = self.review["request"]["objects"]
        return found

    @property
    def names(self) -> list[str]:
        """Return the names of the objects to convert."""
        return [obj["metadata"].get("name", "") for obj in self.objects]


Answer = Callable[[Call], Reply | Json]
"""Makes the answer to a call. A document is sent as JSON."""
Change = Callable[[Json, str], None]
"""Changes an object in place. The object already has the given apiVersion."""


def reviewed(call: Call, objects: Sequence[Any], *, result: Json | None = None, **more: Any) -> Json:
    """Return a review with objects as the answer to a call. `more` replaces members of its response."""
    response = {"uid": call.review["request"]["uid"], "result": result or {"status": "Success"}, "convertedObjects": list(objects)}
    return {"apiVersion": call.review["apiVersion"], "kind": "ConversionReview", "response": response | more}


def converting(change: Change = lambda _obj, _version: None) -> Answer:
    """Return an answer with the objects in the desired version, each changed by `change`."""

    def answer(call: Call) -> Json:
        version = call.review["request"]["desiredAPIVersion"]
        objects = copy.deepcopy(call.objects)
        for obj in objects:
            obj["apiVersion"] = version
            change(obj, version)
        return reviewed(call, objects)

    return answer


def failing(message: str = "", status: str = "Failure") -> Answer:
    """Return an answer that fails the conversion."""
    return lambda call: reviewed(call, [], result={"status": status} | ({"message": message} if message else {}))


class ConversionWebhook(ScriptedWebhook[Call]):
    """A running webhook. A test may replace `answer` at any time. `calls` grows with each request."""

    def __init__(self, folder: Path, *, answer: Answer | None = None, hosts: Sequence[str] = LOOPBACK, port: int = 0) -> None:
        """Start the webhook with a new authority and a certificate for some hosts. Port 0 means a free one."""
        super().__init__(folder, Call, answer or converting(), name="conversion-webhook", hosts=hosts, port=port)

    @property
    def url(self) -> str:
        """Return the URL of the conversion."""
        return f"https://127.0.0.1:{self.port}/convert"

    def client_config(self) -> Json:
        """Return a clientConfig with the webhook's URL."""
        return {"url": self.url, "caBundle": self.ca_bundle}

    def conversion(self, *review_versions: str, **client_config: Any) -> Json:
        """Return a spec.conversion for this webhook; by default with v1 reviews and its URL."""
        client = client_config or self.client_config()
        return {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": list(review_versions) or ["v1"]},
        }

    def service(self, name: str = "webhook", namespace: str = "default", **more: Any) -> Json:
        """Return a clientConfig with the webhook as a Service. Its address is `port` on 127.0.0.1."""
        return {"service": {"name": name, "namespace": namespace, "path": "/convert"} | more, "caBundle": self.ca_bundle}


@contextmanager
def conversion_webhook(folder: Path, **options: Any) -> Iterator[ConversionWebhook]:
    """Run a webhook for the block."""
    with ConversionWebhook(folder, **options) as webhook:
        yield webhook
