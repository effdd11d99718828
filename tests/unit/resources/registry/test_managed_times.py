"""Times of managedFields in updates."""

from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.metadata import keep_times

EARLY, LATE = "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"


def _object(*times: str | None, manager: str = "m", **members: Any) -> Object:
    entries = [{"manager": f"{manager}{number}"} | ({"time": time} if time else {}) for number, time in enumerate(times)]
    return {"metadata": {"name": "a", "managedFields": entries}} | members


@pytest.mark.parametrize(
    "new, kept",
    [
        (_object(LATE, EARLY, spec={"a": 1}), True),
        (_object(None, EARLY, spec={"a": 1}), True),
        (_object(LATE, EARLY, spec={"a": 2}), False),
        (_object(LATE, EARLY, spec={"a": True}), False),
        (_object(LATE, EARLY, spec={"a": 1}, status={}), False),
        (_object(LATE, EARLY, manager="other", spec={"a": 1}), False),
        (_object(LATE, spec={"a": 1}), False),
        (_object(LATE, EARLY, LATE, spec={"a": 1}), False),
    ],
)
def test_keeps_times_of_unchanged_objects(new: Object, kept: bool) -> None:  # noqa: FBT001
    """Keep the times if nothing else differs."""
    old = _object(EARLY, EARLY, spec={"a": 1})
    sent = new["metadata"]["managedFields"]
    keep_times(new, old)

    assert new["metadata"]["managedFields"] == (old["metadata"]["managedFields"] if kept else sent)


def test_changed_metadata() -> None:
    """Keep new times where other metadata differs."""
    old, new = _object(EARLY), _object(LATE)
    new["metadata"]["labels"] = {"a": "b"}
    keep_times(new, old)

    assert new["metadata"]["managedFields"][0]["time"] == LATE
