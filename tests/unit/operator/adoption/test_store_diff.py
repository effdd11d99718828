"""Two stores compared object by object."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.operator.adoption.store_diff import EMPTY, Held, OrderError, Side, contents, differences, held

NAMES = st.dictionaries(st.sampled_from(["a/x", "a-b/x", "a/y", "z", "b/é", "b/e"]), st.integers(0, 2), max_size=6)


async def _objects(held_: list[Held]) -> AsyncIterator[Held]:
    for one in held_:
        yield one


def _held(specs: dict[str, int]) -> list[Held]:
    found = []
    for key in sorted(specs, key=str.encode):
        namespace, _, name = key.rpartition("/")
        metadata = {"name": name, "resourceVersion": "3"} | ({"namespace": namespace} if namespace else {})
        found.append(held({"metadata": metadata, "spec": specs[key]}))
    return found


@given(NAMES, NAMES)
async def test_differences(wanted: dict[str, int], present: dict[str, int]) -> None:
    """What is told turns one side into the other, in the order of keys, and nothing else is told."""
    sides = Side(_objects(_held(wanted))), Side(_objects(_held(present)))
    changed, told = dict(present), []
    async for one in differences(*sides):
        key = (one.wanted or one.present or _held({"z": 0})[0]).key
        told.append(key)
        if one.wanted is None:
            del changed[key]
        else:
            changed[key] = one.wanted.content["spec"]

    assert changed == wanted
    assert told == sorted((key for key in wanted | present if wanted.get(key) != present.get(key)), key=str.encode)
    assert (sides[0].contents == sides[1].contents) == (wanted == present)


async def test_contents() -> None:
    """Contents are those of the objects, whatever their revisions and the order of their fields."""
    one, other = held({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": 1}), held({"spec": 1, "metadata": {"name": "a"}})
    changed = held({"spec": 2, "metadata": {"name": "a"}})

    assert await contents(_objects([one])) == await contents(_objects([other])) != await contents(_objects([changed]))
    assert await contents(_objects([])) == EMPTY


def test_held() -> None:
    """An object is known by namespace and name, and shown in the version that is stored."""
    found = held({"apiVersion": "example.com/v1beta1", "metadata": {"namespace": "n", "name": "a"}}, "example.com/v1")

    assert (found.key, found.namespace, found.name, found.content["apiVersion"]) == ("n/a", "n", "a", "example.com/v1")


async def test_order() -> None:
    """A side that is out of order is refused, for nothing could be said of it."""
    with pytest.raises(OrderError, match="a is listed after b"):
        await contents(_objects(list(reversed(_held({"a": 1, "b": 1})))))
