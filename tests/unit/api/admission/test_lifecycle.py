"""The admission plug-in NamespaceLifecycle, the chain, and terminating definitions."""

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.chain import Chain
from apiext.api.admission.lifecycle import NamespaceLifecycle
from apiext.api.admission.sources import NotReadyError
from apiext.api.admission.terminating_definition import ForbidCreate, Termination
from apiext.base.meta.errors import StatusError
from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.base.meta.request import AdmissionOperation
from tests.support.refusals import refusal
from tests.unit.api.admission.creations import widget


def namespace(name: str) -> Attributes:
    """Return the attributes of a namespace's deletion."""
    kind, resource = GroupVersionKind("", "v1", "Namespace"), GroupVersionResource("", "v1", "namespaces")
    return widget(operation=AdmissionOperation.DELETE, kind=kind, resource=resource, namespace=name, name=name, new=None)


class Namespaces:
    """The phases of a namespace in the cache and live."""

    def __init__(self, cached: str | None, live: str | None) -> None:
        self.cached, self.live = cached, live
        self.asked: list[bool] = []

    async def __call__(self, name: str, *, live: bool) -> str | None:
        """Return the phase."""
        self.asked.append(live)
        return self.live if live else self.cached


@pytest.mark.parametrize("cached, asked", [("Active", [False]), (None, [False, True])], ids=["cached", "new"])
async def test_admits_in_an_active_namespace(cached: str | None, asked: list[bool]) -> None:
    """Admit a create in an active namespace; look it up live only if the cache does not have it yet."""
    namespaces = Namespaces(cached, "Active")

    await NamespaceLifecycle(namespaces).admit(widget())

    assert namespaces.asked == asked


async def test_rejects_in_a_missing_namespace() -> None:
    """Return 404 for a create in a missing namespace."""
    caught = await refusal(NamespaceLifecycle(Namespaces(None, None)).admit(widget()))

    assert (caught.code, caught.message) == (404, 'namespaces "n" not found')


@pytest.mark.parametrize(
    "attributes, name",
    [
        (widget(), "w"),
        (widget(name="", new={"metadata": {"generateName": "w-"}}), "w-"),
        (widget(name="", new={}), "Unknown"),
    ],
)
async def test_rejects_in_a_terminating_namespace(attributes: Attributes, name: str) -> None:
    """Return 403 with a cause for a create in a terminating namespace."""
    error = await refusal(NamespaceLifecycle(Namespaces("Terminating", "Terminating")).admit(attributes))

    assert error.code == 403
    assert error.message == (
        f'widgets.example.com "{name}" is forbidden: unable to create new content in namespace n because it is being terminated'
    )
    assert (error.details or {})["causes"] == [
        {"reason": "NamespaceTerminating", "message": "namespace n is being terminated", "field": "metadata.namespace"}
    ]


async def test_looks_up_after_a_deletion() -> None:
    """Look a namespace up live for 30 seconds after its deletion."""
    time = 0.0
    namespaces = Namespaces("Active", "Terminating")
    plugin = NamespaceLifecycle(namespaces, clock=lambda: time)
    await plugin.admit(namespace("n"))

    with pytest.raises(StatusError, match="it is being terminated"):
        await plugin.admit(widget())
    time = 31.0
    await plugin.admit(widget())


async def test_rejects_before_the_first_list() -> None:
    """Return 403 for a create before the namespaces are listed."""

    async def unready(name: str, *, live: bool) -> str | None:
        assert (name, live) == ("n", False)
        raise NotReadyError

    caught = await refusal(NamespaceLifecycle(unready).admit(widget()))

    assert (caught.code, caught.message) == (403, 'widgets.example.com "w" is forbidden: not yet ready to handle request')


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_rejects_deletion_of_system_namespaces(name: str) -> None:
    """Return 403 for the deletion of a system namespace."""
    caught = await refusal(NamespaceLifecycle(Namespaces("Active", "Active")).admit(namespace(name)))

    assert caught.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


async def test_admits_everything_else() -> None:
    """Admit cluster-scoped objects, updates and deletions."""
    plugin = NamespaceLifecycle(Namespaces(None, None))

    await plugin.admit(widget(namespace=""))
    await plugin.admit(widget(operation=AdmissionOperation.DELETE))
    await plugin.validate(widget())
    assert not plugin.handles(AdmissionOperation.UPDATE)


async def test_chain_stops_at_the_first_error() -> None:
    """Call only plug-ins that handle the operation, in order, until the first error."""
    namespaces = Namespaces(None, None)
    chain = Chain([NamespaceLifecycle(namespaces), NamespaceLifecycle(namespaces)])

    assert chain.handles(AdmissionOperation.CREATE)
    assert not chain.handles(AdmissionOperation.UPDATE)
    assert not Chain([]).handles(AdmissionOperation.CREATE)
    with pytest.raises(StatusError):
        await chain.admit(widget())
    await chain.validate(widget())
    assert len(namespaces.asked) == 2


async def test_rejects_for_a_terminating_definition() -> None:
    """Return 403 for a create while the definition is being deleted, and admit updates."""
    termination = Termination()
    plugin = ForbidCreate(Chain([]), termination)
    await plugin.admit(widget())
    await plugin.validate(widget())
    termination.started = True

    assert plugin.handles(AdmissionOperation.CREATE)
    assert not plugin.handles(AdmissionOperation.UPDATE)
    await plugin.admit(widget(operation=AdmissionOperation.UPDATE))
    for admit in (plugin.admit, plugin.validate):
        caught = await refusal(admit(widget()))
        assert caught.message == (
            'widgets.example.com "w" is forbidden: create not allowed while custom resource definition is terminating'
        )
