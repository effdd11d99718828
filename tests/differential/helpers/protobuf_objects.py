"""Reads objects and watches in Protobuf."""

import json
from typing import Any

from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import Message
from apiext.resources.registry.protobuf.objectmeta import WATCH_EVENT
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Side, Step
from tests.differential.helpers.documents import PROTOBUF


def read_forms(side: Side, step: Step, message: Message) -> tuple[Any, bytes, bytes]:
    """Return an object in JSON, in Protobuf, and apiext's encoding of the JSON."""
    headers = {**step.headers, "Accept": step.headers["Accept"].replace(PROTOBUF, "application/json")}
    _, plain = side.raw(Step(step.method, step.path, step.body, headers))
    response, data = side.raw(step)
    assert response.headers["Content-Type"] == PROTOBUF, data
    obj = json.loads(plain)
    return obj, data, kinds.dumps(obj["apiVersion"], obj["kind"], message.write(obj))


def asking(path: str, kind: str = "", version: str = "v1") -> Step:
    """Return a request for Protobuf, of the objects as another kind if there is one."""
    params = f";as={kind};g=meta.k8s.io;v={version}" if kind else ""
    return Step("GET", path, headers={"Accept": PROTOBUF + params})


def frames(side: Side, step: Step, message: Message) -> tuple[str, list[Any]]:
    """Return the media type of a watch, and its events."""
    response, data = side.raw(step)
    events = []
    while data:
        size = int.from_bytes(data[:4], "big")
        event = WATCH_EVENT.read(data[4 : 4 + size])
        raw = event["object"]["raw"]
        events.append((event["type"], masked(kinds.read(raw, message if event["type"] != "ERROR" else Message({})))))
        data = data[4 + size :]
    return response.headers["Content-Type"] or "", events
