"""Dry runs return the client's resourceVersion and selfLink, as in the reference."""

import pytest

from apiext.resources.registry.request_context import CreateOptions, UpdateOptions
from apiext.storage.interface import Preconditions
from tests.support.refusals import refusal
from tests.unit.resources.registry.conftest import Widgets

DRY = CreateOptions(dry_run=True)


async def test_create_returns_the_sent_revision(widgets: Widgets) -> None:
    """Return the resourceVersion of a dry run's body, which a real write rejects."""
    created = await widgets.create("a", options=DRY, metadata={"resourceVersion": "5"})

    assert created["metadata"]["resourceVersion"] == "5"
    assert "resourceVersion" not in (await widgets.create("a", options=DRY))["metadata"]
    refused = await refusal(widgets.create("a", metadata={"resourceVersion": "5"}))
    assert (refused.code, refused.message) == (500, "resourceVersion should not be set on objects to be created")


@pytest.mark.parametrize("version", ["0", "00", "-1", "x", "\u0663", str(2**64), "9" * 5000])
async def test_ignores_invalid_revisions(widgets: Widgets, version: str) -> None:
    """Ignore a resourceVersion that is no number from 1 to 2^64 - 1."""
    created = await widgets.create("a", metadata={"resourceVersion": version})

    assert created["metadata"]["resourceVersion"] not in (version, "")


async def test_update_returns_the_sent_self_link(widgets: Widgets) -> None:
    """Return the selfLink of a dry run's body, which a real write drops."""
    obj = await widgets.create("a")
    sent = obj | {"metadata": obj["metadata"] | {"selfLink": "/x"}}

    shown = await widgets.put(sent, options=UpdateOptions(dry_run=True))

    assert shown == sent
    assert await widgets.put(sent) == obj


@pytest.mark.parametrize("dry_run, key", [(False, "/registry/example.com/widgets/default/a"), (True, "/example.com/widgets/default/a")])
async def test_failed_precondition_names_the_key(widgets: Widgets, key: str, *, dry_run: bool) -> None:
    """Name the key without the store's prefix in the error of a dry run."""
    obj = await widgets.create("a")
    refused = await refusal(widgets.put(obj, options=UpdateOptions(dry_run=dry_run, preconditions=Preconditions(uid="other"))))

    assert f" Key: {key}, " in refused.message
