"""Namespace controller."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from apiext.api.admission.attributes import Admission, Attributes
from apiext.api.serving import namespace_controller
from apiext.base.meta import errors
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.rest import ResourceRest
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import Answer, InProcess

NAMESPACES = "/api/v1/namespaces"
WIDGETS = "/apis/example.com/v1/namespaces/{}/widgets"


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry without a delay."""
    monkeypatch.setattr(namespace_controller, "MIN_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(namespace_controller, "MAX_PAUSE_SECONDS", 0.001)


def _widget(name: str, *finalizers: str) -> dict[str, object]:
    return widget(name, metadata={"finalizers": list(finalizers)})


async def _namespace(server: InProcess, name: str) -> None:
    answer = await server.ask("POST", NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    assert answer.status == 201, answer.body


async def _once(server: InProcess, path: str, holds: Callable[[Answer], bool]) -> Answer:
    """Return the object, or the error, once a condition holds for it."""
    async with asyncio.timeout(30):
        while not holds(answer := await server.ask("GET", path)):
            continue
    return answer


async def _gone(server: InProcess, path: str) -> None:
    await _once(server, path, lambda answer: answer.status == 404)


async def test_keeps_objects_of_a_recreated_namespace(widgets: InProcess) -> None:
    """Keep the objects of a namespace that was finalized by a client and created again."""
    await _namespace(widgets, "stuck")
    await widgets.ask("POST", WIDGETS.format("stuck"), _widget("held", "example.com/never"))
    await widgets.ask("DELETE", f"{NAMESPACES}/stuck")
    forced = (await widgets.ask("GET", f"{NAMESPACES}/stuck")).json | {"spec": {}}
    assert (await widgets.ask("PUT", f"{NAMESPACES}/stuck/finalize", forced)).status == 200
    await _gone(widgets, f"{NAMESPACES}/stuck")
    await _namespace(widgets, "stuck")
    assert (await widgets.ask("POST", WIDGETS.format("stuck"), _widget("new"))).status == 201

    for _ in range(30):
        assert (await widgets.ask("GET", f"{WIDGETS.format('stuck')}/new")).status == 200
    assert (await widgets.ask("GET", f"{NAMESPACES}/stuck")).json["spec"] == {"finalizers": ["kubernetes"]}


@pytest.fixture
def unlistable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse lists of the kind Broken."""
    listing = ResourceRest.list

    async def refuse(self, ctx, options):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        if self.codec.gvk.kind == "Broken":
            raise errors.service_unavailable("no converter")
        return await listing(self, ctx, options)

    monkeypatch.setattr(ResourceRest, "list", refuse)
    return iter(())


@pytest.mark.usefixtures("unlistable")
async def test_deletes_other_resources_besides_a_broken_one(widgets: InProcess) -> None:
    """Delete the objects of other resources if one resource cannot be listed."""
    await widgets.define(widget_crd("brokens", "Broken", group="a.example.com"))
    await _namespace(widgets, "ending")
    await widgets.ask("POST", WIDGETS.format("ending"), _widget("a"))

    await widgets.ask("DELETE", f"{NAMESPACES}/ending")

    await _gone(widgets, f"{WIDGETS.format('ending')}/a")
    assert (await widgets.ask("GET", f"{NAMESPACES}/ending")).json["status"]["phase"] == "Terminating"


def _conditions(answer: Answer) -> dict[str, tuple[str, str, str]]:
    """Return status, reason and message of each condition."""
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in answer.json["status"].get("conditions") or ()}


async def test_reports_remaining_objects(widgets: InProcess) -> None:
    """Report the number of remaining objects and their finalizers in the conditions."""
    await _namespace(widgets, "stuck")
    for name, held in (("a", ["example.com/x", "example.com/y"]), ("b", ["example.com/x"]), ("c", [])):
        await widgets.ask("POST", WIDGETS.format("stuck"), _widget(name, *held))
    stuck = f"{NAMESPACES}/stuck"

    await widgets.ask("DELETE", stuck)
    answer = await _with_condition(widgets, stuck, "NamespaceContentRemaining", "True")

    finalizers = "example.com/x in 2 resource instances, example.com/y in 1 resource instances"
    assert _conditions(answer) == {
        "NamespaceDeletionDiscoveryFailure": ("False", "ResourcesDiscovered", "All resources successfully discovered"),
        "NamespaceDeletionGroupVersionParsingFailure": ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: widgets.example.com has 2 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {finalizers}",
        ),
    }
    for name in ("a", "b"):
        path = f"{WIDGETS.format('stuck')}/{name}"
        await widgets.ask("PATCH", path, '{"metadata":{"finalizers":null}}', Content_Type="application/merge-patch+json")
    await _gone(widgets, stuck)


@pytest.mark.usefixtures("unlistable")
async def test_reports_failures(widgets: InProcess) -> None:
    """Report a failure to delete objects with its message."""
    await widgets.define(widget_crd("brokens", "Broken", group="a.example.com"))
    await _namespace(widgets, "ending")

    await widgets.ask("DELETE", f"{NAMESPACES}/ending")
    answer = await _with_condition(widgets, f"{NAMESPACES}/ending", "NamespaceDeletionContentFailure", "True")

    message = "Failed to delete all resource types, 1 remaining: no converter"
    assert _conditions(answer)["NamespaceDeletionContentFailure"][1:] == ("ContentDeletionFailed", message)


async def _with_condition(server: InProcess, path: str, condition: str, status: str) -> Answer:
    """Return the namespace once it has a condition."""
    return await _once(server, path, lambda answer: _conditions(answer).get(condition, ("",))[0] == status)


class _Guard(Admission):
    """Refuses the deletion of one object, and records the user of each other deletion."""

    operations = frozenset({AdmissionOperation.DELETE})

    def __init__(self) -> None:
        self.kept = "kept"
        self.deleted: dict[str, str] = {}

    async def validate(self, attributes: Attributes) -> None:
        """Refuse the deletion of the object that is kept."""
        name = str((attributes.old or {})["metadata"]["name"])
        if name == self.kept:
            raise errors.forbidden(attributes.resource.group_resource, name, "it is kept")
        self.deleted[name] = attributes.user.name


async def test_admits_each_deletion() -> None:
    """Ask admission about each object, as the service account of a cluster's controller, and report what it refuses."""
    guard = _Guard()
    async with InProcess(plugins=[guard]) as server:
        await server.define(widget_crd())
        await _namespace(server, "guarded")
        for name in ("a", guard.kept):
            await server.ask("POST", WIDGETS.format("guarded"), _widget(name))

        await server.ask("DELETE", f"{NAMESPACES}/guarded")
        answer = await _with_condition(server, f"{NAMESPACES}/guarded", "NamespaceDeletionContentFailure", "True")
        await _gone(server, f"{WIDGETS.format('guarded')}/a")

        assert 'widgets.example.com "kept" is forbidden: it is kept' in _conditions(answer)["NamespaceDeletionContentFailure"][2]
        assert guard.deleted["a"] == "system:serviceaccount:kube-system:namespace-controller"
        guard.kept = ""
        await _gone(server, f"{NAMESPACES}/guarded")


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for system namespaces without a delay."""
    monkeypatch.setattr(namespace_controller, "ENSURE_SECONDS", 0.01)


@pytest.mark.usefixtures("often")
async def test_restores_a_system_namespace(widgets: InProcess) -> None:
    """Make a system namespace again that was deleted."""
    path = f"{NAMESPACES}/kube-node-lease"
    before = (await widgets.ask("GET", path)).json["metadata"]["uid"]
    assert (await widgets.ask("DELETE", path)).status == 200
    await _once(widgets, path, lambda answer: answer.status == 200 and answer.json["metadata"]["uid"] != before)
