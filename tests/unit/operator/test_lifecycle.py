"""The operator's start."""

from typing import Any

import pytest

from apiext.cli.operate import operate
from apiext.operator import lifecycle
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError
from apiext.operator.leader_election.lease import NAME
from apiext.operator.lifecycle import _Operator
from apiext.operator.options import read_options
from apiext.operator.permissions import missing, needed
from tests.support.captured_logs import logged
from tests.support.servers.memory_api import Json, MemoryApi


class Allowing(MemoryApi):
    """A host that allows all but some verbs."""

    def __init__(self, *refused: tuple[str, str]) -> None:
        super().__init__()
        self._not_allowed = set(refused)
        self.asked: list[Json] = []

    async def _call(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Json:
        if path.endswith("/selfsubjectaccessreviews"):
            attributes = body["spec"]["resourceAttributes"]
            self.asked.append(attributes)
            return {"status": {"allowed": (attributes["verb"], attributes["resource"]) not in self._not_allowed}}
        return await super()._call(method, path, body, headers=headers)


async def test_a_host_that_does_not_answer_yet(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """It is tried again until it answers; each way in which it does not is told once, a missing right by its name."""
    monkeypatch.setattr(lifecycle, "_FIRST", 0.0)
    host = MemoryApi()
    operator = _Operator(read_options(operate.make_context("operate", ["--service=a/b"]).params), host)
    failures = [ApiError("refused"), ApiError("refused"), ApiError('User "x" cannot list resource "apiservices"', code=403)]

    async def get(path: str) -> Json:
        if failures:
            raise failures.pop(0)
        return await MemoryApi.get(host, path)

    monkeypatch.setattr(host, "get", get)
    await operator._reach_host()

    assert host.calls == [("GET", CRDS), ("GET", API_SERVICES)]
    assert [(line["event"], line["error"]) for line in logged(caplog)] == [
        ("the host cannot be reached; it is tried again", "refused"),
        ("the operator's user lacks a right on the host; it is tried again", 'User "x" cannot list resource "apiservices"'),
    ]


async def test_rights() -> None:
    """Each one is asked for where it is needed, and told by name where it is missing."""
    host = Allowing(("patch", "customresourcedefinitions"), ("create", "events"), ("update", "leases"))

    assert [str(right) for right in await missing(host, "here")] == [
        "patch customresourcedefinitions.apiextensions.k8s.io",
        "patch customresourcedefinitions/status.apiextensions.k8s.io",
        "create events",
        "update leases.coordination.k8s.io",
    ]
    assert len(host.asked) == len(needed("here"))
    lease = next(one for one in host.asked if one["resource"] == "leases")
    assert (lease["namespace"], lease["name"]) == ("here", NAME)
    host.down = True
    host._not_allowed = set()
    assert await missing(host, "here") == []
