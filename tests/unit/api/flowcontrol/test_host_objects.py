"""Flow control by the objects of a host."""

import asyncio
from contextlib import suppress

from apiext.api.flowcontrol.flow_control import FlowControl
from apiext.api.flowcontrol.host_objects import HostObjects, strip
from apiext.base.meta.encoding.json_codec import Object
from tests.unit.api.flowcontrol.configuration.test_flow_schema import schema
from tests.unit.api.flowcontrol.configuration.test_priority_level import limited


def schemas(control: FlowControl) -> list[str]:
    """Return the names of the FlowSchemas that apply."""
    return [one.name for one in control.classifier.configuration.schemas]


def _generation(number: int) -> Object:
    """Return a FlowSchema with the number of its spec."""
    return schema() | {"metadata": {"name": "fs", "uid": "u", "generation": number}}


async def settle() -> None:
    """Let the other tasks run."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_applies_both_kinds() -> None:
    """Apply the objects when both kinds are listed, and each change of them."""
    control = FlowControl(seats=10, objects=lambda *_: None)
    host = HostObjects(control)
    task = asyncio.create_task(host.run())

    host.schemas.changed(schema())
    host.schemas.replaced([strip(schema())])
    await settle()
    assert schemas(control) == ["exempt", "catch-all"]

    host.levels.replaced([limited()])
    await settle()
    assert schemas(control) == ["exempt", "fs", "catch-all"]

    host.schemas.changed(schema() | {"metadata": {"name": "b"}})
    await settle()
    assert schemas(control) == ["exempt", "b", "fs", "catch-all"]

    host.schemas.deleted({"metadata": {"name": "b"}})
    host.schemas.deleted({"metadata": {"name": "unknown"}})
    await settle()
    assert schemas(control) == ["exempt", "fs", "catch-all"]

    host.schemas.changed(_generation(2))
    await settle()
    before = control.classifier
    host.schemas.changed(_generation(2) | {"status": {"conditions": []}})
    await settle()
    assert control.classifier is before

    host.schemas.changed(_generation(3))
    await settle()
    assert control.classifier is not before

    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_keeps_what_decides() -> None:
    """Keep kind, name, uid, generation and spec of an object."""
    found: Object = {"kind": "FlowSchema", "metadata": {"name": "a", "uid": "u", "generation": 2, "labels": {}}, "spec": {}, "status": {}}

    assert strip(found) == {"kind": "FlowSchema", "metadata": {"name": "a", "uid": "u", "generation": 2}, "spec": {}}
    assert strip({}) == {"kind": "", "metadata": {"name": "", "uid": "", "generation": ""}, "spec": None}
