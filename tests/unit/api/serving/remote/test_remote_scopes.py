"""Writes in worker processes: the same answers as on the event loop, and what becomes of a write whose process ends."""

import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from apiext.base.meta import limits
from apiext.storage.backend import WriteResult
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import CRDS, Answer, InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
ONE = f"{BASE}/a"
CRD = f"{CRDS}/widgets.example.com"
NAMESPACES = "/api/v1/namespaces"
EVENTS = f"{NAMESPACES}/default/events"
MERGE = {"Content_Type": "application/merge-patch+json"}
OPERATIONS = {"Content_Type": "application/json-patch+json"}
STRATEGIC = {"Content_Type": "application/strategic-merge-patch+json"}
YAML = {"Content_Type": "application/yaml"}
FINALIZER = ["example.com/x"]
LARGE = "x" * (limits.MAX_INLINE_BYTES + 1)
VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=gen-)[a-z0-9]{5}|(?<=resourceVersion)\W+\d+")
MANAGERS = re.compile(r'(?<="managedFields":)\[[^\]]*\]')

Request = tuple[str, str, Any, dict[str, str]]


def request(method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Request:
    """Return a request."""
    return method, path, body, headers or {}


REQUESTS = [
    request("POST", BASE, widget(replicas=1, nope=1)),
    request("POST", BASE, widget(replicas=1)),
    request("POST", f"{BASE}?fieldValidation=Strict", widget("b", nope=1)),
    request("POST", BASE, widget("b", replicas="x", size=1)),
    request("POST", BASE, widget("-", metadata={"finalizers": ["short"], "labels": {"a b": ""}})),
    request("POST", BASE, widget("f", metadata={"finalizers": ["short"]})),
    request("POST", BASE, widget("", metadata={"generateName": "gen-", "name": ""})),
    request("POST", f"{BASE}?dryRun=All", widget("dry")),
    request("POST", BASE.replace("default", "missing"), widget()),
    request("POST", BASE, widget(metadata={"namespace": "other"})),
    request("POST", BASE, b'{"a":'),
    request("POST", BASE, b"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: y}\nspec: {size: l, size: m}\n", YAML),
    request("POST", BASE, b"\ta", YAML),
    request("GET", ONE),
    request("PUT", ONE, widget(replicas=2)),
    request("PUT", ONE, widget(replicas=2, metadata={"resourceVersion": "1"})),
    request("PUT", ONE, widget(metadata={"uid": "other", "resourceVersion": "1"})),
    request("PUT", f"{BASE}/none", widget("none", metadata={"resourceVersion": "1"})),
    request("PUT", ONE, widget("other")),
    request("PATCH", ONE, {"spec": {"replicas": 3, "nope": 1}}, MERGE),
    request("PATCH", f"{ONE}?fieldValidation=Strict", {"spec": {"nope": 1}}, MERGE),
    request("PATCH", f"{ONE}?dryRun=All", {"spec": {"replicas": 9}}, MERGE),
    request("PATCH", ONE, {"spec": {"replicas": "x"}}, MERGE),
    request("PATCH", f"{BASE}/none", {}, MERGE),
    request("PATCH", ONE, [{"op": "test", "path": "/spec/replicas", "value": 7}], OPERATIONS),
    request("PATCH", ONE, [{"op": "copy", "from": "/metadata/name", "path": "/spec/size"}], OPERATIONS),
    request("PATCH", ONE, b"[", OPERATIONS),
    request("PATCH", f"{ONE}/status", {"status": {"replicas": 4}, "spec": {"replicas": 5}}, MERGE),
    request("PATCH", f"{ONE}/scale", {"spec": {"replicas": 6}}, MERGE),
    request("PATCH", f"{ONE}/scale", {"spec": {"replicas": -1}}, MERGE),
    request("GET", ONE),
    request("PATCH", ONE, {"metadata": {"finalizers": FINALIZER}}, MERGE),
    request("DELETE", ONE, {"preconditions": {"uid": "other"}}),
    request("DELETE", ONE, {"propagationPolicy": "Nope"}),
    request("DELETE", f"{ONE}?dryRun=All"),
    request("DELETE", ONE),
    request("DELETE", ONE),
    request("PATCH", ONE, {"metadata": {"finalizers": None}}, MERGE),
    request("DELETE", ONE),
    request("GET", BASE),
    request("DELETE", BASE),
    request("PATCH", CRD, {"metadata": {"labels": {"a": "b"}}}, MERGE),
    request("PATCH", CRD, {"spec": {"scope": "Cluster"}}, MERGE),
    request("PATCH", f"{CRD}/status", {"status": {"storedVersions": []}}, MERGE),
    request("POST", CRDS, widget_crd("others", "Other", scope="Nope")),
    request("POST", NAMESPACES, {"metadata": {"name": "a"}, "nope": 1}),
    request("POST", NAMESPACES, {"metadata": {"name": "A"}}),
    request("PATCH", f"{NAMESPACES}/a", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC),
    request("DELETE", f"{NAMESPACES}/default"),
    request("POST", EVENTS, {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}),
    request("POST", EVENTS, {"metadata": {"name": "f"}, "involvedObject": {"namespace": "other"}}),
    request("PUT", f"{EVENTS}/g", {"metadata": {"name": "g"}, "involvedObject": {"namespace": "default"}}),
    request("DELETE", CRD, {"preconditions": {"uid": "other"}}),
    request("DELETE", CRD),
]


@pytest.fixture
async def servers() -> AsyncIterator[list[InProcess]]:
    """Yield two servers that serve widgets."""
    async with AsyncExitStack() as stack:
        both = [await stack.enter_async_context(InProcess()) for _ in range(2)]
        for server in both:
            await server.define(widget_crd())
        yield both


def shown(answer: Answer) -> tuple[int, list[str], str]:
    """Return what clients see of an answer, without what differs between two equal writes: managers are ordered by time."""
    return answer.status, answer.warnings, MANAGERS.sub(_by_name, VARYING.sub("#", answer.body.decode()))


def _by_name(managers: re.Match[str]) -> str:
    return str(sorted(managers[0].split('{"apiVersion"')))


async def test_workers_answer_like_the_event_loop(servers: list[InProcess], monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the same answers in the same order, whichever process executes the writes."""
    inline, remote = servers
    for method, path, body, headers in REQUESTS:
        with monkeypatch.context() as patch:
            wanted = shown(await inline.ask(method, path, body, **headers))
            patch.setattr(limits, "MAX_INLINE_BYTES", -1)
            patch.setattr(limits, "MAX_INLINE_YAML_BYTES", -1)
            found = shown(await remote.ask(method, path, body, **headers))
        assert found == wanted, (method, path, body)

    assert remote.workers.supply.template
    assert not inline.workers.supply.template


async def test_a_small_change_of_a_large_object_runs_in_a_worker(widgets: InProcess) -> None:
    """Process a large stored object in a worker for a small patch, a small update and a deletion; small objects stay on the loop."""
    await widgets.ask("POST", BASE, widget())
    await widgets.ask("PATCH", ONE, {"metadata": {"annotations": {"a": LARGE[: limits.MAX_INLINE_BYTES // 2]}}}, **MERGE)
    assert not widgets.workers.supply.template

    await widgets.ask("PATCH", ONE, {"metadata": {"annotations": {"b": LARGE[: limits.MAX_INLINE_BYTES // 2]}}}, **MERGE)
    patched = await widgets.ask("PATCH", ONE, {"spec": {"replicas": 3, "nope": 1}}, **MERGE)

    assert widgets.workers.supply.template
    assert (patched.status, patched.json["spec"]["replicas"]) == (200, 3)
    assert patched.warnings == ['299 - "unknown field \\"spec.nope\\""']
    assert (await widgets.ask("PUT", ONE, widget(replicas=1))).status == 422
    assert (await widgets.ask("DELETE", ONE)).json["status"] == "Success"
    assert (await widgets.ask("GET", ONE)).status == 404


async def test_a_write_whose_process_ends_fails(widgets: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 500 if the process is killed in the middle of a write, write at most once, and serve the next write."""
    create, writes = widgets.backend.create, []

    async def kill(key: str, *args: Any, **more: Any) -> WriteResult:
        writes.append(key)
        (worker,) = widgets.workers.working
        os.kill(worker.pid, signal.SIGKILL)
        return await create(key, *args, **more)

    large = widget(metadata={"annotations": {"a": LARGE}})
    with monkeypatch.context() as patch:
        patch.setattr(widgets.backend, "create", kill)
        failed = await widgets.ask("POST", BASE, large)

    assert (failed.status, failed.json["reason"], len(writes)) == (500, "InternalError", 1)
    assert (await widgets.ask("POST", BASE, large)).status == 409


async def test_a_changed_definition_reaches_the_workers(widgets: InProcess) -> None:
    """Validate with the current schema after each change of the definition."""
    large = widget(metadata={"annotations": {"a": LARGE}})
    assert (await widgets.ask("POST", BASE, large)).status == 201

    size = {"size": {"type": "string", "enum": ["xl"], "default": "xl"}}
    properties = {"properties": {"spec": {"type": "object", "properties": size}}, "type": "object"}
    path = "/spec/versions/0/schema/openAPIV3Schema"
    await widgets.ask("PATCH", CRD, [{"op": "replace", "path": path, "value": properties}], **OPERATIONS)
    created = await widgets.ask("POST", BASE, large | {"metadata": large["metadata"] | {"name": "b"}})

    assert created.json["spec"] == {"size": "xl"}
