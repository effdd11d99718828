"""A dry run answers as on the reference, which shows what was sent more faithfully than what a write stores."""

from __future__ import annotations

import pytest

from apiext.meta.errors import StatusError
from apiext.registry.request_context import CreateOptions, UpdateOptions
from apiext.storage.interface import Preconditions
from tests.unit.registry.conftest import Widgets

DRY = CreateOptions(dry_run=True)


async def test_a_creation_shows_the_revision_that_was_sent(widgets: Widgets) -> None:
    """A resourceVersion would be refused by the write itself; the dry run gives it back."""
    created = await widgets.create("a", options=DRY, metadata={"resourceVersion": "5"})

    assert created["metadata"]["resourceVersion"] == "5"
    assert "resourceVersion" not in (await widgets.create("a", options=DRY))["metadata"]
    with pytest.raises(StatusError) as refused:
        await widgets.create("a", metadata={"resourceVersion": "5"})
    assert (refused.value.code, refused.value.message) == (500, "resourceVersion should not be set on objects to be created")


@pytest.mark.parametrize("version", ["0", "00", "-1", "x", "\u0663", str(2**64), "9" * 5000])
async def test_what_names_no_revision_is_overlooked(widgets: Widgets, version: str) -> None:
    """Only a number from 1 to 2^64 - 1 is a resourceVersion."""
    created = await widgets.create("a", metadata={"resourceVersion": version})

    assert created["metadata"]["resourceVersion"] not in (version, "")


async def test_an_update_shows_the_self_link_that_was_sent(widgets: Widgets) -> None:
    """The write itself does not store it."""
    obj = await widgets.create("a")
    sent = obj | {"metadata": obj["metadata"] | {"selfLink": "/x"}}

    shown = await widgets.put(sent, options=UpdateOptions(dry_run=True))

    assert shown == sent
    assert await widgets.put(sent) == obj


@pytest.mark.parametrize("dry_run, key", [(False, "/registry/example.com/widgets/default/a"), (True, "/example.com/widgets/default/a")])
async def test_a_failed_precondition_names_the_key(widgets: Widgets, key: str, *, dry_run: bool) -> None:
    """The key in the message has the prefix of the store only where the store itself was asked."""
    obj = await widgets.create("a")
    with pytest.raises(StatusError) as refused:
        await widgets.put(obj, options=UpdateOptions(dry_run=dry_run, preconditions=Preconditions(uid="other")))

    assert f" Key: {key}, " in refused.value.message
