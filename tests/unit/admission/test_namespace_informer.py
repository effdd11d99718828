"""The informer for the host's namespaces."""

import asyncio
from typing import Any

import pytest

from apiext.admission.namespace_informer import NamespaceInformer, strip_namespace
from apiext.admission.sources import NotReadyError
from tests.support.refusals import refusal
from tests.unit.admission.creations import Host, error_status


def _namespace(name: str, phase: str = "Active") -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def _informer(*namespaces: dict[str, Any], host: Host | None = None) -> NamespaceInformer:
    informer = NamespaceInformer(host or Host(), missing_wait=0.01)
    informer.replaced(namespaces)
    return informer


async def test_returns_the_latest_phase() -> None:
    """Return the phase of the last event without a request."""
    host = Host()
    informer = _informer(_namespace("a"), _namespace("b"), host=host)
    informer.changed(_namespace("a", "Terminating"))
    informer.changed(_namespace("c"))
    informer.deleted(_namespace("b"))

    assert [await informer(name, live=False) for name in "abcd"] == ["Terminating", None, "Active", None]
    informer.replaced([_namespace("d")])
    assert [await informer(name, live=False) for name in "acd"] == [None, None, "Active"]
    assert host.asked == []


async def test_strips_namespaces() -> None:
    """Keep name and phase of a namespace only."""
    whole = {"metadata": {"name": "a", "labels": {"b": "c"}}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}}

    assert strip_namespace(whole) == _namespace("a", "Terminating")
    assert await _informer(strip_namespace(whole))("a", live=False) == "Terminating"


async def test_waits_for_a_new_namespace() -> None:
    """Wait a moment for the event of a namespace."""
    informer = NamespaceInformer(Host(), missing_wait=30.0)
    informer.replaced([])
    waiting = asyncio.create_task(informer("new", live=False))
    await asyncio.sleep(0)
    informer.changed(_namespace("other"))
    await asyncio.sleep(0)
    assert not waiting.done()
    informer.changed(_namespace("new"))

    assert await waiting == "Active"


async def test_waits_for_the_first_list() -> None:
    """Wait for the first list, and raise NotReadyError after the timeout."""
    informer = NamespaceInformer(Host(), ready_wait=30.0)
    waiting = asyncio.create_task(informer("a", live=False))
    await asyncio.sleep(0)
    before = informer.synced
    informer.replaced([_namespace("a")])

    assert await waiting == "Active"
    assert (before, informer.synced) == (False, True)
    with pytest.raises(NotReadyError):
        await NamespaceInformer(Host(), ready_wait=0.01)("a", live=False)


async def test_reads_live() -> None:
    """Return the live phase, and None for a missing namespace."""
    host = Host(**{"GET /api/v1/namespaces/a%2Fb": (200, _namespace("a/b", "Terminating"))})
    informer = _informer(_namespace("c"), host=host)

    assert [await informer(name, live=True) for name in ("a/b", "c")] == ["Terminating", None]


@pytest.mark.parametrize(
    "answer, reason",
    [
        (error_status(403, "Forbidden", "namespaces is forbidden"), "namespaces is forbidden"),
        ((0, None), 'Get "/api/v1/namespaces/n": connection refused'),
        ((200, b"<html>"), "invalid answer with code 200"),
    ],
)
async def test_fails_without_an_answer(answer: tuple[int, Any], reason: str) -> None:
    """Return 500 where the host does not answer."""
    informer = _informer(host=Host(**{"GET /api/v1/namespaces/n": answer}))

    caught = await refusal(informer("n", live=True))

    assert (caught.code, caught.message) == (500, f"Internal error occurred: {reason}")
