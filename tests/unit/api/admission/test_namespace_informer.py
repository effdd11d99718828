"""The informer for the host's namespaces."""

import asyncio
from typing import Any

import pytest

from apiext.api.admission.namespace_informer import NamespaceInformer
from apiext.api.admission.sources import NotReadyError
from tests.support.refusals import refusal
from tests.unit.api.admission.creations import Host, error_status


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


async def test_returns_whole_namespaces() -> None:
    """Return a namespace with labels, spec and status, without managedFields and type; each caller gets its own object."""
    kept: dict[str, Any] = {
        "metadata": {"name": "a", "labels": {"b": "c"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
    found = {"apiVersion": "v1", "kind": "Namespace", **kept, "metadata": {**kept["metadata"], "managedFields": [{"manager": "m"}]}}
    host = Host()
    informer = _informer(found, host=host)
    informer.changed({**found, "metadata": {**found["metadata"], "name": "b"}})

    first, other = await informer.namespace("a"), await informer.namespace("b")

    assert (first, other) == (kept, {**kept, "metadata": {**kept["metadata"], "name": "b"}})
    assert first is not None
    first.clear()
    assert await informer.namespace("a") == kept
    assert host.asked == []


async def test_looks_up_unknown_namespaces() -> None:
    """Ask the host for a namespace that no event has shown, and return None where the host has none."""
    host = Host(**{"GET /api/v1/namespaces/new": (200, {"kind": "Namespace", **_namespace("new")})})
    informer = _informer(_namespace("gone"), host=host)
    informer.deleted(_namespace("gone"))

    assert [await informer.namespace(name) for name in ("new", "gone")] == [_namespace("new"), None]
    assert host.asked == ["GET /api/v1/namespaces/new", "GET /api/v1/namespaces/gone"]


async def test_reports_a_failed_lookup() -> None:
    """Raise the host's error for a lookup that it refuses, and NotReadyError before the first list."""
    informer = _informer(host=Host(**{"GET /api/v1/namespaces/n": error_status(403, "Forbidden", "namespaces is forbidden")}))

    caught = await refusal(informer.namespace("n"))

    assert (caught.code, caught.message) == (403, "namespaces is forbidden")
    with pytest.raises(NotReadyError):
        await NamespaceInformer(Host(), ready_wait=0.01).namespace("n")


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
