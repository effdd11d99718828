"""Custom resources that rules with expressions convert."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.resources.conversion.known import Origin
from tests.support.builders.conversions import conversion, fields, items
from tests.support.builders.converted_widgets import widgets_crd
from tests.support.servers.in_process import InProcess

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
SHORT = {"type": "string", "maxLength": 10}
SCHEMAS = {
    "v1": fields(spec=fields(a="integer", b="integer", tags=items(SHORT) | {"maxItems": 5000}, sub=fields(q="string", own="string"))),
    "v2": fields(spec=fields(total="integer", clean="boolean", tags=items(SHORT) | {"maxItems": 5000}, sub=fields(q="string"))),
}
RULES = [
    {
        "expression": {
            "toHub": [
                {"path": "spec.total", "value": "self.spec.a + self.spec.b"},
                {"path": "spec.clean", "value": "has(self.spec.tags) && self.spec.tags.all(t, !t.startsWith('x'))"},
            ],
            "toSpoke": [{"path": "spec.a", "value": "self.spec.total"}, {"path": "spec.b", "value": "0"}],
        }
    }
]


@pytest.fixture
async def server() -> AsyncIterator[InProcess]:
    """Yield a server that converts widgets by expressions."""
    crd = widgets_crd()
    for version in crd["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": SCHEMAS[version["name"]]}
    async with InProcess() as running:
        running.converters.known.put(Origin.FILE, conversion(v1=RULES))
        await running.define(crd)
        yield running


def _widget(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


async def test_both_versions_are_read(server: InProcess) -> None:
    """Compute the fields of the other version, and carry what it lacks."""
    created = await server.ask("POST", V1, _widget("v1", a=1, b=2))
    new, old = await server.ask("GET", f"{V2}/a"), await server.ask("GET", f"{V1}/a")

    assert created.status == 201, created.body
    assert new.json["spec"] == {"total": 3, "clean": False}
    assert old.json["spec"] == {"a": 1, "b": 2}


async def test_a_change_in_the_other_version_counts(server: InProcess) -> None:
    """Compute the fields again from what was changed; what was not changed stays."""
    await server.ask("POST", V1, _widget("v1", a=1, b=2))
    headers = {"Content_Type": "application/merge-patch+json"}
    patched = await server.ask("PATCH", f"{V2}/a", {"spec": {"total": 9}}, **headers)
    old = await server.ask("GET", f"{V1}/a")

    assert patched.status == 200, patched.body
    assert old.json["spec"] == {"a": 9, "b": 2}


async def test_a_failing_expression_refuses_the_write(server: InProcess) -> None:
    """Refuse an object for which an expression fails, with the field and the reason."""
    refused = await server.ask("POST", V1, _widget("v1", a=2**63 - 1, b=1))

    assert refused.status == 500, refused.body
    assert b"the expression for spec.total failed: integer overflow" in refused.body


async def test_a_missing_operand_gives_no_value(server: InProcess) -> None:
    """Leave out a field whose expression reads a field that is not there."""
    created = await server.ask("POST", V1, _widget("v1", a=1))
    new = await server.ask("GET", f"{V2}/a")

    assert created.status == 201, created.body
    assert new.json["spec"] == {"clean": False}


async def test_costly_expressions(server: InProcess) -> None:
    """Write an object whose expressions cost more than a rule may on the event loop."""
    tags = ["a"] * 4000
    created = await server.ask("POST", V1, _widget("v1", a=1, b=2, tags=tags))
    new = await server.ask("GET", f"{V2}/a")

    assert created.status == 201, created.body
    assert new.json["spec"] == {"total": 3, "clean": True, "tags": tags}


@pytest.mark.parametrize("count", [1, 4000])
async def test_what_is_carried_ends_with_its_place(server: InProcess, count: int) -> None:
    """Drop what was carried for a removed object, also where the expressions run in a worker process, and keep the rest."""
    headers = {"Content_Type": "application/merge-patch+json"}
    await server.ask("POST", V1, _widget("v1", a=1, b=2, tags=["a"] * count, sub={"q": "x", "own": "y"}))
    before = await server.ask("GET", f"{V1}/a")
    writes = [await server.ask("PATCH", f"{V2}/a", {"spec": {"sub": sub}}, **headers) for sub in (None, {"q": "x"})]
    after = await server.ask("GET", f"{V1}/a")

    assert [write.status for write in writes] == [200, 200]
    assert before.json["spec"]["sub"] == {"q": "x", "own": "y"}
    assert after.json["spec"] == before.json["spec"] | {"sub": {"q": "x"}}
