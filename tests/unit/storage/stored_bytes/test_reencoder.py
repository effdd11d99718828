"""Rewriting of objects that are stored in other versions."""

from collections.abc import Sequence
from typing import Any

import pytest

from apiext.base.meta.encoding import cbor_codec, json_codec
from apiext.base.scheduling.call_log import CallLog
from apiext.storage.backend import ValueTooLargeError
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.stored_bytes.reencoder import Reencoder
from tests.support.builders.widgets import WidgetCodec
from tests.support.servers.memory_backend import MemoryBackend

PREFIX = "/registry/example.com/widgets/"


class _Guard:
    def decide(self, _value: bytes | None) -> None:
        return None

    async def outdated(self, guard: object) -> None:
        raise AssertionError


class _Conversion:
    """Converts batches, but for objects named "odd"."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    async def from_storage(
        self, objects: Sequence[json_codec.Object], _log: CallLog | None = None
    ) -> Sequence[json_codec.Object | ValueError]:
        self.sizes.append(len(objects))
        return [ValueError("odd") if obj["metadata"]["name"] == "odd" else obj | {"apiVersion": "example.com/v1"} for obj in objects]

    async def to_storage(self, obj: json_codec.Object) -> json_codec.Object:
        raise AssertionError(obj)


async def _store(backend: MemoryBackend, *names: str, version: str = "v0") -> None:
    for name in names:
        metadata = {"name": name, "uid": f"u-{name}", "managedFields": [{"manager": "m"}]}
        obj = {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": metadata}
        await backend.create(f"{PREFIX}{name}", json_codec.dumps(obj) + b"\n")


async def _run(backend: MemoryBackend, codec: WidgetCodec) -> tuple[list[str], dict[str, Exception]]:
    reencoder = Reencoder(backend=backend, renderer=Renderer(PREFIX), guard=_Guard())
    written: list[str] = []
    failed: dict[str, Exception] = {}
    async for batch in reencoder.batches(codec):
        written += [item.key for item in batch.written]
        failed |= dict(batch.failed)
    return written, failed


def _versions(backend: MemoryBackend) -> dict[str, str]:
    return {key.removeprefix(PREFIX): json_codec.loads(pair.value)["apiVersion"] for key, pair in backend.state.items()}


async def test_rewrites_other_versions_only(backend: MemoryBackend) -> None:
    """Write objects of other versions as an update without changes would, and no other ones."""
    await _store(backend, "a", "b")
    await _store(backend, "c", version="v1")
    revision = await backend.revision()

    assert await _run(backend, WidgetCodec()) == (["a", "b"], {})

    assert await backend.revision() == revision + 2
    pair, _ = await backend.get(f"{PREFIX}a")
    assert pair is not None
    assert json_codec.loads(pair.value)["metadata"] == {"name": "a", "uid": "u-a", "managedFields": [{"manager": "m"}]}
    assert pair.value.endswith(b"}\n")


async def test_finds_what_cannot_be_converted(backend: MemoryBackend) -> None:
    """Rewrite all objects but those that cannot be converted, with one conversion for each page."""
    names = [f"w{number:03}" for number in range(30)]
    await _store(backend, *names, "odd")
    codec = WidgetCodec()
    codec.decode = json_codec.loads  # type: ignore[method-assign]
    conversion = codec.conversion = _Conversion()

    written, failed = await _run(backend, codec)

    assert (sorted(written), set(failed)) == (names, {"odd"})
    assert {name for name, version in _versions(backend).items() if version == "example.com/v0"} == {"odd"}
    assert conversion.sizes == [8, 23]


async def test_loses_no_write(backend: MemoryBackend) -> None:
    """Leave an object alone that a client has written or deleted since it was read."""
    await _store(backend, "changed", "deleted", "kept")
    codec = WidgetCodec()
    codec.decode = json_codec.loads  # type: ignore[method-assign]

    class Racing(_Conversion):
        async def from_storage(
            self, objects: Sequence[json_codec.Object], _log: CallLog | None = None
        ) -> Sequence[json_codec.Object | ValueError]:
            for name, value in (("changed", b'{"apiVersion":"example.com/v1"}'), ("deleted", b"")):
                pair, _ = await backend.get(f"{PREFIX}{name}")
                assert pair is not None
                write: Any = (
                    backend.update(pair.key, value, expected=pair.revision) if value else backend.delete(pair.key, expected=pair.revision)
                )
                assert (await write).succeeded
            return await super().from_storage(objects)

    codec.conversion = Racing()

    assert await _run(backend, codec) == (["kept"], {})
    pair, _ = await backend.get(f"{PREFIX}changed")
    assert pair is not None
    assert pair.value == b'{"apiVersion":"example.com/v1"}'
    assert "deleted" not in _versions(backend)


async def test_reports_objects_that_grow_too_large(backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report an object that the store refuses in its new form."""
    await _store(backend, "a")

    async def refuse(*_args: object, **_options: object) -> None:
        raise ValueTooLargeError

    monkeypatch.setattr(backend, "update", refuse)
    written, failed = await _run(backend, WidgetCodec())
    assert (written, list(failed)) == ([], ["a"])


async def test_rewrites_in_cbor(backend: MemoryBackend) -> None:
    """Store objects in CBOR, with the types of numbers, where that is the encoding of writes."""
    codec = WidgetCodec()
    codec.cbor = True
    obj = {"apiVersion": "example.com/v0", "data": {"f": 1.0, "i": 1}, "kind": "Widget", "metadata": {"name": "a", "uid": "u"}}
    await backend.create(f"{PREFIX}a", json_codec.dumps(obj, typed=True) + b"\n")

    assert await _run(backend, codec) == (["a"], {})

    pair, _ = await backend.get(f"{PREFIX}a")
    assert pair is not None
    assert pair.value.startswith(cbor_codec.PREFIX)
    assert repr(cbor_codec.loads(pair.value)["data"]) == repr(obj["data"])
