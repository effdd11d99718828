"""YAML and indented JSON of responses in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.api.endpoints.request import SERVES_CBOR, USER, WORKERS
from apiext.api.endpoints.responsewriters import content_encoding as formatting
from apiext.api.endpoints.responsewriters.content_encoding import format_parts, formatted
from apiext.api.endpoints.responsewriters.table import encode_items
from apiext.api.endpoints.serializers.negotiation import CBOR, YAML, MediaType
from apiext.base.meta.encoding import cbor_codec, json_codec
from apiext.base.meta.request import UserInfo
from apiext.storage.interface import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

_TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | _TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=6
)
FORMS = [MediaType(YAML), MediaType(pretty=True)]


class InlineWorkers:
    """Calls functions at once."""

    def __init__(self) -> None:
        self.longest = 0

    async def call(self, make: Callable[..., bytes], data: bytes, *more: MediaType, user: str) -> bytes:
        """Return the function's result."""
        assert user == "somebody"
        self.longest = max(self.longest, len(data))
        return make(data, *more)


def request(workers: InlineWorkers, *, serves_cbor: bool = False) -> web.BaseRequest:
    """Return a request of a user."""
    gate = {SERVES_CBOR: True} if serves_cbor else {}
    return cast("web.BaseRequest", {WORKERS: workers, USER: UserInfo("somebody"), **gate})


async def parts_of(head: bytes, values: list[Any], tail: bytes) -> list[bytes]:
    """Return a list in parts, as the endpoints make it."""
    items = [Item(key="k", revision=1, data=json_codec.dumps(value), labels={}, fields={}) for value in values]
    return [head, *await encode_items(items, lambda item: item.data), tail]


@pytest.mark.parametrize("media", FORMS, ids=["yaml", "indented"])
@given(values=st.lists(st.dictionaries(_TEXT, _VALUES, max_size=3), max_size=4), name=st.sampled_from(["items", "rows"]))
async def test_batches_make_the_same_text(media: MediaType, values: list[Any], name: str) -> None:
    """Format a list in batches as if it was whole."""
    head = b'{"apiVersion":"v1","columnDefinitions":[{"description":"\\nitems: []\\nrows: []\\n"}],"%b":[' % name.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatting, "INLINE_BYTES", 0)
        whole = await parts_of(head, values, b'],"kind":"List","metadata":{}}\n')
        batches = [whole[0], *(json_codec.dumps(value) + b"," for value in values[:-1]), *map(json_codec.dumps, values[-1:]), whole[-1]]
        for parts in (whole, batches):
            made = b"".join(await format_parts(request(InlineWorkers()), media, parts))
            assert made == formatted(b"".join(whole), media)


@pytest.mark.parametrize("media", FORMS, ids=["yaml", "indented"])
async def test_large_lists_are_formatted_in_batches(media: MediaType) -> None:
    """Give a worker process a batch of a large list at a time."""
    parts = await parts_of(b'{"apiVersion":"v1","items":[', [{"a": "x" * 50_000}] * 100, b"]}\n")
    workers = InlineWorkers()
    made = b"".join(await format_parts(request(workers), media, parts))

    assert made == formatted(b"".join(parts), media)
    assert workers.longest < 1_000_000


@pytest.mark.parametrize("media", [*FORMS, MediaType(CBOR)], ids=["yaml", "indented", "cbor"])
async def test_lists_that_are_not_divided(media: MediaType) -> None:
    """Format a list whose items come apart, because it is sent in one piece, as if it was whole."""
    item = b'{"a":"%b"}' % (b"x" * 2000)
    parts = [b'{"apiVersion":"v1","items":[', *[item, b","] * 40, item, b'],"kind":"List","metadata":{}}\n']
    made = b"".join(await format_parts(request(InlineWorkers()), media, parts))

    if media.type == CBOR:
        assert cbor_codec.loads(made) == json_codec.loads(b"".join(parts))
    else:
        assert made == formatted(b"".join(parts), media)


@pytest.mark.parametrize("media", FORMS, ids=["yaml", "indented"])
async def test_deep_items_are_written_as_json(media: MediaType) -> None:
    """Send the list on one line if an item is nested too deep."""
    deep = b"[" * 500 + b"]" * 500
    parts = [b'{"apiVersion":"v1","items":[', b'{"a":"' + b"x" * 70_000 + b'"},', b'{"a":' + deep + b"}", b"]}\n"]

    assert await format_parts(request(InlineWorkers()), media, parts) == parts


async def test_other_large_values_are_formatted_whole() -> None:
    """Format an object, and a list without items, in one piece."""
    for parts in ([b'{"a":"' + b"x" * 70_000 + b'"}', b"\n"], [b'{"a":"' + b"x" * 70_000 + b'","rows":[', b"", b"]}\n"]):
        assert await format_parts(request(InlineWorkers()), FORMS[0], parts) == [formatted(b"".join(parts), FORMS[0])]


@pytest.mark.parametrize("limits", [(64 * 1024, 1024 * 1024), (0, 1024 * 1024), (0, 0)])
@pytest.mark.parametrize("media", [MediaType(), *FORMS], ids=["json", "yaml", "indented"])
@given(values=st.lists(st.dictionaries(_TEXT, _VALUES, max_size=3), max_size=4))
async def test_only_cbor_has_typed_numbers(media: MediaType, limits: tuple[int, int], values: list[Any]) -> None:
    """Write typed numbers as Go does, in lists, objects and lists without items."""
    lists = [json_codec.dumps(value, typed=True) + b"," for value in values]
    head, tail = b'{"apiVersion":"v1","items":[', b'],"kind":"List","metadata":{}}\n'
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatting, "INLINE_BYTES", limits[0])
        patch.setattr(formatting, "SEARCHED_BYTES", limits[1])
        for parts in ([head, *lists[:-1], b"".join(lists[-1:]).removesuffix(b","), tail], [json_codec.dumps(values, typed=True), b"\n"]):
            made = b"".join(await format_parts(request(InlineWorkers(), serves_cbor=True), media, parts))
            assert made == formatted(json_codec.untyped(b"".join(parts)).removesuffix(b"\n"), media)
