"""Audit events, and what takes them."""

import json
from collections.abc import Awaitable, Sequence
from typing import Any

from apiext.api.audit.context import AuditContext, client
from apiext.api.audit.event import AuditEvent, RequestFacts, arrival
from apiext.api.audit.levels import AuditLevel, AuditStage
from apiext.api.audit.policy import AuditSettings
from apiext.base.meta.request import RequestInfo, UserInfo

ANN = UserInfo("ann", ("dev", "ops"), "7", {"scopes": ("view",)})


class Taken:
    """A sink that keeps its events, and lets requests wait for `answer`."""

    def __init__(self, answer: Awaitable[bool] | None = None) -> None:
        self.events: list[AuditEvent] = []
        self.batches: list[list[AuditEvent]] = []
        self.answer = answer
        self.closed = False

    def receive(self, context: RequestFacts) -> Awaitable[bool] | None:
        """Keep the event of an arrival."""
        return self.process((arrival(context),))

    def complete(self, context: RequestFacts, moment: int) -> Awaitable[bool] | None:
        """Keep the last event."""
        return self.process((AuditEvent(context, AuditStage.RESPONSE_COMPLETE, moment),))

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        """Keep the events."""
        self.events += events
        self.batches.append(list(events))
        return self.answer

    async def close(self) -> None:
        """Note the end."""
        self.closed = True

    @property
    def stages(self) -> list[str]:
        """Return the stages of the events."""
        return [event.stage.value for event in self.events]

    def documents(self) -> list[Any]:
        """Return the events as parsed JSON."""
        return [json.loads(event.line()) for event in self.events]


def info(verb: str = "get", name: str = "a") -> RequestInfo:
    """Return the attributes of a request about a widget."""
    return RequestInfo(True, "/apis/example.com/v1/widgets", verb, "apis", "example.com", "v1", "default", "widgets", "", name)


def context(
    sink: Taken, level: AuditLevel = AuditLevel.METADATA, *, verb: str = "get", user: UserInfo | None = ANN, uri: str = "/x"
) -> AuditContext:
    """Return the context of a request that is recorded."""
    found = AuditContext("an-id", 1_500_000_000)
    found.begin(AuditSettings(level), sink, user, info(verb))
    found.uri, found.client = uri, client(("127.0.0.1",), "test/1")
    return found


def events(count: int, level: AuditLevel = AuditLevel.METADATA, *, verb: str = "get", body: bytes | None = None) -> list[AuditEvent]:
    """Return the last events of so many requests, with requests' objects if there is a `body`."""
    sink = Taken()
    for number in range(count):
        one = context(sink, level, verb=verb, uri=f"/{number}")
        if body is not None:
            one.write_record().take_body(body)
        one.take_code(200)
        one.complete()
    return sink.events


def uris(lines: bytes) -> list[str]:
    """Return the URIs in lines of JSON."""
    return [json.loads(line)["requestURI"] for line in lines.splitlines()]
