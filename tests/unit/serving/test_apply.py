"""Applies that create: the permission that they need, and built-in kinds."""

from apiext.authorization.authorizer import ALLOWED, NO_OPINION, Verdict
from apiext.meta.request import RequestInfo, UserInfo
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import CRDS, InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
APPLY = "application/apply-patch+yaml"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"a": "b"}}}


async def test_creating_needs_permission() -> None:
    """Create by an apply only for users who may create; others may change what exists."""
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


async def test_applies_built_in_kinds() -> None:
    """Create a namespace and a definition by an apply, and apply them again without a change."""
    async with InProcess() as server:
        for path, obj in (("/api/v1/namespaces/n", NAMESPACE), (f"{CRDS}/widgets.example.com", widget_crd())):
            created = await server.ask("PATCH", f"{path}?fieldManager=m", obj, Content_Type=APPLY)
            again = await server.ask("PATCH", f"{path}?fieldManager=m", obj, Content_Type=APPLY)

            assert (created.status, again.status) == (201, 200), created.json
            assert created.json["metadata"]["managedFields"][0]["operation"] == "Apply"
