"""The informer for parameters of policies."""

import asyncio
from typing import Any

import pytest

from apiext.api.admission.packed_objects import reduce
from apiext.api.admission.param_informer import ParamInformer
from apiext.api.admission.sources import NotReadyError
from tests.support.event_loop import turns_of


def _object(name: str, namespace: str = "n", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "data": {"a": "b"},
    }


def _names(found: list[dict[str, Any]]) -> list[str]:
    return [f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in found]


async def test_returns_objects_by_name() -> None:
    """Return the latest state of an object without its type, and None for one that is gone."""
    informer = ParamInformer(typed=True)
    informer.replaced([reduce(_object("a")), reduce(_object("b"))])
    informer.changed({**_object("a"), "data": {"a": "c"}})
    informer.deleted(_object("b"))

    assert informer.get("n", "a") == {"metadata": {"name": "a", "namespace": "n", "labels": {}}, "data": {"a": "c"}}
    assert [informer.get(*key) for key in (("n", "b"), ("m", "a"))] == [None, None]
    informer.replaced([])
    assert informer.get("n", "a") is None


async def test_keeps_the_type_of_custom_resources() -> None:
    """Keep apiVersion, kind and managedFields of objects without a Go type."""
    informer = ParamInformer(typed=False)
    found = {"apiVersion": "e.com/v1", "kind": "Limit", "metadata": {"name": "a", "managedFields": [{}]}, "spec": {"max": 3}}
    informer.replaced([reduce(found, typed=False)])

    assert informer.get("", "a") == found


async def test_drops_the_type_of_built_in_kinds() -> None:
    """Drop apiVersion, kind and managedFields of objects with a Go type."""
    informer = ParamInformer(typed=True)
    informer.replaced([reduce({**_object("a"), "metadata": {**_object("a")["metadata"], "managedFields": [{}]}})])

    assert informer.get("n", "a") == {"metadata": {"name": "a", "namespace": "n", "labels": {}}, "data": {"a": "b"}}


async def test_selects_by_labels() -> None:
    """Return the objects that a selector matches, of one or all namespaces, by namespace and name, as they are now."""
    informer = ParamInformer(typed=True)
    informer.replaced([_object("b", env="test"), _object("a", env="test"), _object("c"), _object("a", "m", env="test")])

    assert _names(await informer.select("n", "env=test")) == ["n/a", "n/b"]
    assert _names(await informer.select("", "env=test")) == ["m/a", "n/a", "n/b"]
    assert _names(await informer.select("n", "")) == ["n/a", "n/b", "n/c"]
    informer.changed(_object("c", env="test"))
    informer.deleted(_object("a"))
    assert _names(await informer.select("n", "env=test")) == ["n/b", "n/c"]


async def test_selects_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give way to other tasks while a selector is tried on many objects."""
    # fast machines need only two slices of the usual length
    monkeypatch.setattr("apiext.base.scheduling.time_slice.SLICE_SECONDS", 0.0002)
    informer = ParamInformer(typed=True)
    informer.replaced([reduce(_object(f"o{number}")) for number in range(10_000)])

    assert await turns_of(informer.select("n", "env in (a,b),!x")) > 2


async def test_waits_for_the_first_list() -> None:
    """Wait for the first list, and raise NotReadyError after the timeout."""
    informer = ParamInformer(typed=True, ready_wait=30.0)
    waiting = asyncio.create_task(informer.wait_until_listed())
    await asyncio.sleep(0)
    before = informer.synced
    informer.replaced([])

    await waiting
    assert (before, informer.synced) == (False, True)
    with pytest.raises(NotReadyError):
        await ParamInformer(typed=True, ready_wait=0.01).wait_until_listed()
