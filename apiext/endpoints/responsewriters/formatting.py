"""CBOR, YAML and indented JSON, made from the JSON of a response: large ones in worker processes, lists a batch of items at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from apiext.endpoints.request import SERVES_CBOR, USER, WORKERS
from apiext.endpoints.serializers.negotiation import CBOR, JSON, PROTOBUF, YAML, MediaType
from apiext.meta.encoding import json_codec
from apiext.scheduling.time_slice import Pace

if TYPE_CHECKING:
    from aiohttp import web

_INLINE_BYTES: Final = 64 * 1024
"""Size in bytes above which other forms are made in a worker process."""
_SEARCHED_BYTES: Final = 1024 * 1024
"""Size in bytes up to which numbers are searched on the event loop, which takes 3 ms."""
_OTHER_FORMS: Final = frozenset({CBOR, YAML})
_LIST_NAMES: Final = (b"items", b"rows")


def is_formatted(request: web.BaseRequest, media: MediaType) -> bool:
    """Return whether a response in this media type differs from the JSON it is made from in more than its compression."""
    return media.type in _OTHER_FORMS or (media.type != PROTOBUF and (media.pretty or SERVES_CBOR in request))


def formatted(data: bytes, media: MediaType) -> bytes:
    """Return JSON of one line in the form of the media type: as CBOR or YAML, indented, or with a final line break."""
    if media.type == CBOR:
        # imported on first use, as YAML below
        from apiext.meta.encoding import cbor_codec

        value = json_codec.loads(data)
        if media.set_floats is not None:
            media.set_floats(value)
        return cbor_codec.dumps(value)
    if media.type != YAML:
        return json_codec.pretty(data) if media.pretty else data + b"\n"
    # imported on first use: few clients ask for YAML
    from apiext.endpoints.serializers import yaml_codec

    return yaml_codec.dumps(json_codec.loads(data))


async def format_parts(request: web.BaseRequest, media: MediaType, parts: Sequence[bytes]) -> Sequence[bytes]:
    """Return JSON, given in parts, in the form of the media type.

    More than two parts are a list: its start, batches of items that end with a comma except the last, and its end. Where CBOR is served,
    the numbers of objects are typed; only CBOR shows it.
    """
    if media.type != CBOR and SERVES_CBOR in request:
        parts = await _untyped(request, parts)
        if media.type == JSON and not media.pretty:
            return parts
    if sum(map(len, parts)) <= _INLINE_BYTES:
        return [formatted(b"".join(parts), media)]

    async def made_from(data: bytes) -> bytes:
        return await request[WORKERS].call(formatted, data, media, user=request[USER].name)

    batches = [part for part in parts[1:-1] if part]
    if not batches:
        return [await made_from(b"".join(parts))]
    if media.type == CBOR:
        from apiext.meta.encoding.cbor_codec import joined_lists

        lists = [await made_from(b"[%b]" % batch.removesuffix(b",")) for batch in batches]
        return joined_lists(await made_from(parts[0] + parts[-1]), lists)
    frame = await made_from(parts[0] + parts[-1])
    before, name, after = _split(frame, media)
    begin, separator, end = (name + b":\n", b"", b"") if media.type == YAML else (b'{\n  "%b": [\n' % name, b",\n", b"\n  ]\n}")
    made = [before, begin.removeprefix(b"{\n")]
    for batch in batches:
        text = await made_from(b'{"%b":[%b]}' % (name, batch.removesuffix(b",")))
        text = text.rstrip(b"\n") + b"\n" if media.type == YAML else text.rstrip(b"\n")
        if not (text.startswith(begin) and text.endswith(end)):
            # an item is nested too deep for the form; JSON of one line is valid in both
            return parts
        made += [text[len(begin) : len(text) - len(end)], separator]
    made[-1] = end.removesuffix(b"\n}")
    return [*made, after]


async def _untyped(request: web.BaseRequest, parts: Sequence[bytes]) -> Sequence[bytes]:
    """Return JSON in parts without the types of numbers."""
    pace = Pace()

    async def made_from(data: bytes) -> bytes:
        await pace.checkpoint()
        if len(data) <= _SEARCHED_BYTES and not json_codec.may_be_typed(data):
            return data
        if len(data) <= _INLINE_BYTES:
            return json_codec.untyped(data)
        return await request[WORKERS].call(json_codec.untyped, data, user=request[USER].name)

    batches = parts[1:-1]
    if not batches:
        return [await made_from(b"".join(parts))]
    made = [parts[0]]
    for batch in batches:
        items = batch.removesuffix(b",")
        made.append((await made_from(b"[%b]" % items))[1:-1] + batch[len(items) :])
    return [*made, parts[-1]]


def _split(frame: bytes, media: MediaType) -> tuple[bytes, bytes, bytes]:
    """Return what is before the empty list of a formatted response, the list's name, and what is after it."""
    for name in _LIST_NAMES:
        empty = b"\n%b: []\n" % name if media.type == YAML else b'\n  "%b": []' % name
        before, found, after = frame.partition(empty)
        if found:
            return before + b"\n", name, after
    raise AssertionError("a list has items or rows")
