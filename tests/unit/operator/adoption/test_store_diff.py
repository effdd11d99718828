"""The comparison of two stores."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.operator.adoption.store_diff import EMPTY, ObjectStream, OrderError, StoredObject, differences, stored_object, summarize

NAMES = st.dictionaries(st.sampled_from(["a/x", "a-b/x", "a/y", "z", "b/é", "b/e"]), st.integers(0, 2), max_size=6)


async def _objects(held_: list[StoredObject]) -> AsyncIterator[StoredObject]:
    for one in held_:
        yield one


def _stored_objects(specs: dict[str, int]) -> list[StoredObject]:
    found = []
    for key in sorted(specs, key=str.encode):
        namespace, _, name = key.rpartition("/")
        metadata = {"name": name, "resourceVersion": "3"} | ({"namespace": namespace} if namespace else {})
        found.append(stored_object({"metadata": metadata, "spec": specs[key]}))
    return found


@given(NAMES, NAMES)
async def test_yields_exactly_the_differences(wanted: dict[str, int], present: dict[str, int]) -> None:
    """Yield the changes that make one side equal to the other, in the order of keys, and no others."""
    sides = ObjectStream(_objects(_stored_objects(wanted))), ObjectStream(_objects(_stored_objects(present)))
    changed, changed_keys = dict(present), []
    async for one in differences(*sides):
        key = (one.wanted or one.present or _stored_objects({"z": 0})[0]).key
        changed_keys.append(key)
        if one.wanted is None:
            del changed[key]
        else:
            changed[key] = one.wanted.content["spec"]

    assert changed == wanted
    assert changed_keys == sorted((key for key in wanted | present if wanted.get(key) != present.get(key)), key=str.encode)
    assert (sides[0].summary == sides[1].summary) == (wanted == present)


async def test_summarizes_contents() -> None:
    """Summarize keys and contents, regardless of revisions and the order of fields."""
    one, other = (
        stored_object({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": 1}),
        stored_object({"spec": 1, "metadata": {"name": "a"}}),
    )
    changed = stored_object({"spec": 2, "metadata": {"name": "a"}})

    assert await summarize(_objects([one])) == await summarize(_objects([other])) != await summarize(_objects([changed]))
    assert await summarize(_objects([])) == EMPTY


def test_returns_stored_objects() -> None:
    """Return an object with its key, in the version that it has, without its resourceVersion."""
    found = stored_object({"apiVersion": "example.com/v1beta1", "metadata": {"namespace": "n", "name": "a", "resourceVersion": "1"}})

    assert (found.key, found.namespace, found.name) == ("n/a", "n", "a")
    assert found.content == {"apiVersion": "example.com/v1beta1", "metadata": {"namespace": "n", "name": "a"}}


async def test_rejects_unordered_lists() -> None:
    """Reject a side that is not in the order of keys."""
    with pytest.raises(OrderError, match="a is listed after b"):
        await summarize(_objects(list(reversed(_stored_objects({"a": 1, "b": 1})))))
