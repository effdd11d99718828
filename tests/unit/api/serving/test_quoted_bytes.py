"""What texts quote of stored bytes that cannot be decoded."""

from typing import Final

import pytest

from apiext.base.meta.errors import StatusError, public_text
from apiext.base.meta.gvk import GroupResource
from apiext.resources.registry.errors import interpret
from apiext.storage.corrupt_objects import Corruption
from apiext.storage.errors import CorruptObjectError
from tests.support.event_loop import until_answered
from tests.support.servers.in_process import CRDS, InProcess

BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
SECRET: Final = "S3CRET"
STORED: Final = (
    b'{"a":"S3CRET"}',
    b'"S3CRET"',
    b"S3CRET",
    b'{"apiVersion":"S3CRET/v1","kind":"Widget","metadata":{"name":"a"}}',
    b'{"apiVersion":["S3CRET"],"kind":"Widget","metadata":{"name":"a"}}',
    b'{"apiVersion":"example.com/v1","kind":"S3CRET","metadata":"S3CRET"}',
    b'{"apiVersion":"example.com/v1","kind":{"S3CRET":1},"metadata":{"name":"a"}}',
)


@pytest.mark.parametrize("stored", STORED)
async def test_conditions_of_a_definition(widgets: InProcess, stored: bytes) -> None:
    """Quote nothing of objects in the conditions of their definition, which others read; its deletion says which object holds it up."""
    await widgets.backend.create("/registry/example.com/widgets/default/a", stored)
    path = f"{CRDS}/widgets.example.com"
    listed = await widgets.ask("GET", BASE)
    deleted = await widgets.ask("DELETE", path)

    async def is_told() -> bool:
        conditions = (await widgets.ask("GET", path)).json["status"]["conditions"]
        return any(one["type"] == "Terminating" and "default/a" in one["message"] for one in conditions)

    await until_answered(is_told)

    assert (listed.status, deleted.status) == (500, 200)
    assert SECRET not in (await widgets.ask("GET", path)).body.decode()


def test_public_texts() -> None:
    """Leave the decoder's reason out of the texts for others, of one object and of a list, but not out of the answer to a reader."""
    error = CorruptObjectError("/registry/example.com/widgets/a", f"object not decodable revision=5: 'Kind' is missing in '{SECRET}'")
    resource, corruption = GroupResource("example.com", "widgets"), Corruption(GroupResource("example.com", "widgets"))
    corruption.add(error)
    with pytest.raises(StatusError) as listed:
        corruption.check()
    answers = [interpret(error, resource=resource, operation=operation, name="a") for operation in ("get", "update")]

    texts = [public_text(one) for one in (error, listed.value, *answers)]
    assert all(SECRET not in text and "object not decodable revision=5" in text and "widgets/a" in text for text in texts)
    assert all(SECRET in str(one) for one in (error, listed.value, *answers))
    assert public_text(ValueError("plain")) == "plain"


async def test_definitions_of_no_kind(widgets: InProcess) -> None:
    """Show the reader of objects the reference's text."""
    await widgets.backend.create("/registry/example.com/widgets/default/a", STORED[0])

    assert "Object 'Kind' is missing in '{\"a\":\"S3CRET\"}'" in (await widgets.ask("GET", f"{BASE}/a")).message
    assert "default/a" in (await widgets.ask("GET", BASE)).message
