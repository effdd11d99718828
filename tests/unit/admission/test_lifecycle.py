"""Namespaces that are missing, ending, or for ever."""

import pytest

from apiext.admission.attributes import CREATE, DELETE, UPDATE, Attributes
from apiext.admission.chain import Chain
from apiext.admission.lifecycle import NamespaceLifecycle, NotReadyError
from apiext.admission.terminating_definition import Ending, ForbidCreate
from apiext.meta.errors import StatusError
from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from tests.unit.admission.creations import widget


def namespace(name: str) -> Attributes:
    """The deletion of a namespace."""
    kind, resource = GroupVersionKind("", "v1", "Namespace"), GroupVersionResource("", "v1", "namespaces")
    return widget(operation=DELETE, kind=kind, resource=resource, namespace=name, name=name, new=None)


class Namespaces:
    """Phases as a cache and as the store have them."""

    def __init__(self, cached: str | None, live: str | None) -> None:
        self.cached, self.live = cached, live
        self.asked: list[bool] = []

    async def __call__(self, name: str, *, live: bool) -> str | None:
        """The phase of any namespace."""
        self.asked.append(live)
        return self.live if live else self.cached


async def test_active() -> None:
    """In an active namespace anything may be created, and the cached state is enough to know."""
    namespaces = Namespaces("Active", "Active")

    await NamespaceLifecycle(namespaces).admit(widget())

    assert namespaces.asked == [False]


async def test_cache_behind() -> None:
    """A namespace that the cache does not have yet is asked for again."""
    namespaces = Namespaces(None, "Active")

    await NamespaceLifecycle(namespaces).admit(widget())

    assert namespaces.asked == [False, True]


async def test_missing() -> None:
    """Nothing is created in a namespace that does not exist."""
    with pytest.raises(StatusError) as caught:
        await NamespaceLifecycle(Namespaces(None, None)).admit(widget())

    assert (caught.value.code, caught.value.message) == (404, 'namespaces "n" not found')


@pytest.mark.parametrize(
    "attributes, name",
    [
        (widget(), "w"),
        (widget(name="", new={"metadata": {"generateName": "w-"}}), "w-"),
        (widget(name="", new={}), "Unknown"),
    ],
)
async def test_terminating(attributes: Attributes, name: str) -> None:
    """Nothing is created in a namespace that is on its way out, and clients can tell why."""
    with pytest.raises(StatusError) as caught:
        await NamespaceLifecycle(Namespaces("Terminating", "Terminating")).admit(attributes)

    error = caught.value
    assert error.code == 403
    assert error.message == (
        f'widgets.example.com "{name}" is forbidden: unable to create new content in namespace n because it is being terminated'
    )
    assert (error.details or {})["causes"] == [
        {"reason": "NamespaceTerminating", "message": "namespace n is being terminated", "field": "metadata.namespace"}
    ]


async def test_cache_is_not_believed_after_a_deletion() -> None:
    """For half a minute after a deletion an active namespace is looked up in the store."""
    time = 0.0
    namespaces = Namespaces("Active", "Terminating")
    plugin = NamespaceLifecycle(namespaces, clock=lambda: time)
    await plugin.admit(namespace("n"))

    with pytest.raises(StatusError, match="it is being terminated"):
        await plugin.admit(widget())
    time = 31.0
    await plugin.admit(widget())


async def test_nothing_known() -> None:
    """Where nothing is known of namespaces yet, creates are refused."""

    async def unready(name: str, *, live: bool) -> str | None:
        assert (name, live) == ("n", False)
        raise NotReadyError

    with pytest.raises(StatusError) as caught:
        await NamespaceLifecycle(unready).admit(widget())

    assert (caught.value.code, caught.value.message) == (403, 'widgets.example.com "w" is forbidden: not yet ready to handle request')


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_immortals(name: str) -> None:
    """Some namespaces stay."""
    with pytest.raises(StatusError) as caught:
        await NamespaceLifecycle(Namespaces("Active", "Active")).admit(namespace(name))

    assert caught.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


async def test_everything_else() -> None:
    """Cluster-scoped objects, updates and deletions are no concern of it."""
    plugin = NamespaceLifecycle(Namespaces(None, None))

    await plugin.admit(widget(namespace=""))
    await plugin.admit(widget(operation=DELETE))
    await plugin.validate(widget())
    assert not plugin.handles(UPDATE)


async def test_chain() -> None:
    """A chain asks only who cares, in order, and ends at the first refusal."""
    namespaces = Namespaces(None, None)
    chain = Chain([NamespaceLifecycle(namespaces), NamespaceLifecycle(namespaces)])

    assert chain.handles(CREATE)
    assert not chain.handles(UPDATE)
    assert not Chain().handles(CREATE)
    with pytest.raises(StatusError):
        await chain.admit(widget())
    await chain.validate(widget())
    assert len(namespaces.asked) == 2


async def test_terminating_definitions() -> None:
    """While a definition is being deleted its objects can be changed, but no new one comes."""
    ending = Ending()
    plugin = ForbidCreate(Chain(), ending)
    await plugin.admit(widget())
    await plugin.validate(widget())
    ending.begun = True

    assert plugin.handles(CREATE)
    assert not plugin.handles(UPDATE)
    await plugin.admit(widget(operation=UPDATE))
    for ask in (plugin.admit, plugin.validate):
        with pytest.raises(StatusError) as caught:
            await ask(widget())
        assert caught.value.message == (
            'widgets.example.com "w" is forbidden: create not allowed while custom resource definition is terminating'
        )
