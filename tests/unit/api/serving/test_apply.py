"""Applies and updates that create: the permission that they need, and built-in kinds."""

from typing import Any

from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, Verdict
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
APPLY = "application/apply-patch+yaml"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "b"}}}


async def test_creating_needs_permission() -> None:
    """Refuse an apply that creates an object if the user may not create; allow one that changes an object."""
    may_create = True

    async def authorize(_user: UserInfo, info: RequestInfo) -> Verdict:
        return ALLOWED if may_create or info.verb != "create" else NO_OPINION

    async with InProcess(authorize=authorize) as server:
        await server.ask("POST", CRDS, widget_crd())
        created = await server.ask("PATCH", f"{BASE}/a?fieldManager=m", widget(replicas=1), Content_Type=APPLY)
        may_create = False
        changed = await server.ask("PATCH", f"{BASE}/a?fieldManager=m", widget(replicas=2), Content_Type=APPLY)
        refused = await server.ask("PATCH", f"{BASE}/b?fieldManager=m", widget("b"), Content_Type=APPLY)
        status = await server.ask("PATCH", f"{BASE}/b/status?fieldManager=m", widget("b"), Content_Type=APPLY)

    assert (created.status, changed.status, refused.status, status.status) == (201, 200, 403, 404)
    assert refused.message.startswith('widgets.example.com "b" is forbidden: ')


async def test_updates_that_create_need_permission() -> None:
    """Refuse a PUT that creates an event if the user may not create; warn once about what the body has too much."""
    events = "/api/v1/namespaces/default/events"
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "unknown": 1}
    may_create = False

    async def authorize(_user: UserInfo, info: RequestInfo) -> Verdict:
        return ALLOWED if may_create or info.verb != "create" else NO_OPINION

    async with InProcess(authorize=authorize) as server:
        refused = await server.ask("PUT", f"{events}/e", event)
        may_create = True
        created = await server.ask("PUT", f"{events}/e", event)
        may_create = False
        changed = await server.ask("PUT", f"{events}/e", event | {"message": "x"})

    assert (refused.status, created.status, changed.status) == (403, 201, 200)
    assert refused.message.startswith('events "e" is forbidden: ')
    assert len(created.warnings) == 1


async def test_applies_built_in_kinds() -> None:
    """Create a namespace and a definition by an apply, and apply them again without a change."""
    async with InProcess() as server:
        for path, obj in (("/api/v1/namespaces/n", NAMESPACE), (f"{CRDS}/widgets.example.com", widget_crd())):
            created = await server.ask("PATCH", f"{path}?fieldManager=m", obj, Content_Type=APPLY)
            again = await server.ask("PATCH", f"{path}?fieldManager=m", obj, Content_Type=APPLY)

            assert (created.status, again.status) == (201, 200), created.json
            assert created.json["metadata"]["managedFields"][0]["operation"] == "Apply"


async def test_scales_without_a_version_have_no_manager() -> None:
    """Record no manager for a PUT of a Scale without apiVersion: the replicas stay with an entry of their manager that has no time."""
    bodies: tuple[dict[str, Any], ...] = ({}, {"kind": "Scale"}, {"apiVersion": "autoscaling/v1"})
    async with InProcess() as server:
        await server.define(widget_crd())
        found = []
        for number, body in enumerate(bodies):
            name = f"w{number}"
            await server.ask("POST", f"{BASE}?fieldManager=creator", widget(name, replicas=1))
            scale = body | {"metadata": {"name": name}, "spec": {"replicas": 2}}
            assert (await server.ask("PUT", f"{BASE}/{name}/scale?fieldManager=scaler", scale)).status == 200
            entry = (await server.ask("GET", f"{BASE}/{name}")).json["metadata"]["managedFields"][0]
            found.append((entry["manager"], entry.get("subresource"), "time" in entry))

    assert found == [("creator", None, False), ("creator", None, False), ("scaler", "scale", False)]
