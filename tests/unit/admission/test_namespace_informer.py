"""The host's namespaces are followed, and asked for where that does not tell."""

import asyncio
from typing import Any

import pytest

from apiext.admission.lifecycle import NotReadyError
from apiext.admission.namespace_informer import FollowedNamespaces, reduced
from apiext.meta.errors import StatusError
from tests.unit.admission.creations import Host, refusal


def _namespace(name: str, phase: str = "Active") -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def _followed(*namespaces: dict[str, Any], host: Host | None = None) -> FollowedNamespaces:
    followed = FollowedNamespaces(host or Host(), missing_wait=0.01)
    followed.replaced(namespaces)
    return followed


async def test_changes() -> None:
    """Phases are those that were told last; nobody is asked for them."""
    host = Host()
    followed = _followed(_namespace("a"), _namespace("b"), host=host)
    followed.changed(_namespace("a", "Terminating"))
    followed.changed(_namespace("c"))
    followed.deleted(_namespace("b"))

    assert [await followed(name, live=False) for name in "abcd"] == ["Terminating", None, "Active", None]
    followed.replaced([_namespace("d")])
    assert [await followed(name, live=False) for name in "acd"] == [None, None, "Active"]
    assert host.asked == []


async def test_reduced() -> None:
    """What is kept of a namespace suffices to know it."""
    whole = {"metadata": {"name": "a", "labels": {"b": "c"}}, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Terminating"}}

    assert reduced(whole) == _namespace("a", "Terminating")
    assert await _followed(reduced(whole))("a", live=False) == "Terminating"


async def test_just_made() -> None:
    """A namespace that is heard of a moment later is there."""
    followed = FollowedNamespaces(Host(), missing_wait=30.0)
    followed.replaced([])
    waiting = asyncio.create_task(followed("new", live=False))
    await asyncio.sleep(0)
    followed.changed(_namespace("other"))
    await asyncio.sleep(0)
    assert not waiting.done()
    followed.changed(_namespace("new"))

    assert await waiting == "Active"


async def test_first_list() -> None:
    """Before the first list all wait for it, but not for ever."""
    followed = FollowedNamespaces(Host(), ready_wait=30.0)
    waiting = asyncio.create_task(followed("a", live=False))
    await asyncio.sleep(0)
    before = followed.synced
    followed.replaced([_namespace("a")])

    assert await waiting == "Active"
    assert (before, followed.synced) == (False, True)
    with pytest.raises(NotReadyError):
        await FollowedNamespaces(Host(), ready_wait=0.01)("a", live=False)


async def test_live() -> None:
    """The host tells of a namespace as it is now, and that there is none."""
    host = Host(**{"GET /api/v1/namespaces/a%2Fb": (200, _namespace("a/b", "Terminating"))})
    followed = _followed(_namespace("c"), host=host)

    assert [await followed(name, live=True) for name in ("a/b", "c")] == ["Terminating", None]


@pytest.mark.parametrize(
    "answer, why",
    [
        (refusal(403, "Forbidden", "namespaces is forbidden"), "namespaces is forbidden"),
        ((0, None), 'Get "/api/v1/namespaces/n": connection refused'),
        ((200, b"<html>"), "an answer with code 200 that cannot be used"),
    ],
)
async def test_no_word(answer: tuple[int, Any], why: str) -> None:
    """Where the host does not say, it is an internal error."""
    followed = _followed(host=Host(**{"GET /api/v1/namespaces/n": answer}))

    with pytest.raises(StatusError) as caught:
        await followed("n", live=True)

    assert (caught.value.code, caught.value.message) == (500, f"Internal error occurred: {why}")
