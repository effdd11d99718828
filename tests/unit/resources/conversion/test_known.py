"""The Conversions that a server knows."""

from typing import Any

import pytest

from apiext.resources.conversion.known import KnownConversions, Origin


def _document(hub: str = "v2", name: Any = "widgets.example.com", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name} | metadata, "spec": {"hub": hub}}


@pytest.fixture
def known() -> KnownConversions:
    """Return an empty set."""
    return KnownConversions()


@pytest.fixture
def changes(known: KnownConversions) -> list[str | None]:
    """Return the list of the changes that will be reported."""
    reported: list[str | None] = []
    known.subscribe(reported.append)
    return reported


def _hubs(known: KnownConversions) -> list[str]:
    return [one.document["spec"]["hub"] for one in known]


def test_files_replace_objects(known: KnownConversions, changes: list[str | None]) -> None:
    """Use a file instead of an object of the same name, until the file is gone."""
    for origin, hub in ((Origin.OBJECT, "v1"), (Origin.FILE, "v2"), (Origin.OBJECT, "v3")):
        known.put(origin, _document(hub))
    with_file = _hubs(known)
    known.remove(Origin.FILE, "widgets.example.com")

    assert (with_file, _hubs(known)) == (["v2"], ["v3"])
    assert changes == ["widgets.example.com"] * 3


def test_only_specs_are_changes(known: KnownConversions, changes: list[str | None]) -> None:
    """Report no change of metadata or status."""
    known.put(Origin.OBJECT, _document(generation=1))
    known.put(Origin.OBJECT, _document(generation=2) | {"status": {}})
    known.remove(Origin.OBJECT, "gadgets.example.com")

    assert changes == ["widgets.example.com"]
    assert [one.document["metadata"]["generation"] for one in known] == [2]


def test_lists_replace_all(known: KnownConversions) -> None:
    """Remove what a list does not have, and ignore documents without a name."""
    known.put(Origin.OBJECT, _document())
    known.replace(Origin.OBJECT, [_document(name="gadgets.example.com"), _document(name=5), {}])

    assert [one.name for one in known] == ["gadgets.example.com"]


def test_unknown_until_settled(known: KnownConversions, changes: list[str | None]) -> None:
    """Report that all may have changed once the Conversions are known."""
    known.missing = "not listed"
    known.settle()
    known.settle()

    assert (known.missing, changes) == ("", [None])
