"""The start of the operator."""

from typing import Any

import kopf
import pytest

from apiext.base.meta.host_annotations import CONDITION
from apiext.cli.operate import operate
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError
from apiext.operator.leader_lease import NAME
from apiext.operator.leader_session import missing_permissions, required_permissions
from apiext.operator.lifecycle import OperatorProcess
from apiext.operator.options import read_options
from tests.support.servers.memory_api import Json, MemoryApi
from tests.unit.operator.parts import GROUP, crd


class Allowing(MemoryApi):
    """A host that allows all but some verbs."""

    def __init__(self, *refused: tuple[str, str]) -> None:
        super().__init__()
        self.not_allowed = set(refused)
        self.asked: list[Json] = []

    async def call(self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Json:
        """Answer reviews of access, and other requests as a host."""
        if path.endswith("/selfsubjectaccessreviews"):
            attributes = body["spec"]["resourceAttributes"]
            self.asked.append(attributes)
            return {"status": {"allowed": (attributes["verb"], attributes["resource"]) not in self.not_allowed}}
        return await super().call(method, path, body, headers=headers)


async def test_retries_until_the_host_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise kopf's TemporaryError with the reason and a growing delay until the host answers; then call back once."""
    host, facts = MemoryApi(), list[dict[str, str]]()
    options = read_options(operate.make_context("operate", ["--service=a/b"]).params)
    operator = OperatorProcess(options, host, started=facts.append)
    failures = [ApiError("refused"), ApiError('User "x" cannot list resource "apiservices"', code=403)]

    async def get(path: str) -> Json:
        if failures:
            raise failures.pop(0)
        return await MemoryApi.get(host, path)

    monkeypatch.setattr(host, "get", get)
    with pytest.raises(kopf.TemporaryError, match="the host cannot be reached: refused") as first:
        await operator.reach_host(retry=0)
    with pytest.raises(kopf.TemporaryError, match=r"the operator's user lacks a right on the host: User") as second:
        await operator.reach_host(retry=3)
    assert (first.value.delay, second.value.delay, facts) == (1.0, 8.0, [])

    await operator.reach_host(retry=9)
    await operator.reach_host(retry=0)
    assert host.calls == [("GET", CRDS), ("GET", API_SERVICES)] * 2
    assert [one["service"] for one in facts] == ["a/b, port 443"]


async def test_shows_its_status() -> None:
    """Show the reasons of conditions, and whether the host is listed and the leader is known."""
    host = MemoryApi()
    operator = OperatorProcess(read_options(operate.make_context("operate", ["--service=a/b"]).params), host)
    alone = OperatorProcess(read_options(operate.make_context("operate", ["--service=a/b", "--no-leader-elect"]).params), host)
    operator.state.crds.update(crd())
    operator.state.crds.update(crd(plural="gadgets") | {"status": {"conditions": [{"type": CONDITION, "reason": "Serving"}]}})

    assert operator.condition_reasons() == {f"gadgets.{GROUP}": "Serving"}
    assert (operator.is_synced, operator.knows_leader, operator.is_leader) == (False, False, False)
    assert alone.knows_leader


async def test_reports_missing_permissions() -> None:
    """Review each permission in its namespace, and return the missing ones."""
    host = Allowing(("patch", "customresourcedefinitions"), ("create", "events"), ("update", "leases"))

    assert [str(right) for right in await missing_permissions(host, "here")] == [
        "patch customresourcedefinitions.apiextensions.k8s.io",
        "patch customresourcedefinitions/status.apiextensions.k8s.io",
        "create events",
        "update leases.coordination.k8s.io",
    ]
    assert len(host.asked) == len(required_permissions("here"))
    lease = next(one for one in host.asked if one["resource"] == "leases")
    assert (lease["namespace"], lease["name"]) == ("here", NAME)
    host.down = True
    host.not_allowed = set()
    assert await missing_permissions(host, "here") == []
