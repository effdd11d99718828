"""The form of an archive."""

import json
from typing import Any

import pytest

from apiext.tools.recordings.archive_format import RecordingManifest, dump_object, load_object, objects_member
from apiext.tools.releases.interface import SourceError, SourceObject


def test_manifests_are_read_back() -> None:
    """Read what was written; refuse other files and later versions."""
    manifest = RecordingManifest(origin="cluster x", is_redacted=True, is_anonymized=False, objects={"b": 1, "a": 2})

    assert RecordingManifest.load(manifest.dump()) == manifest
    document = json.loads(manifest.dump())
    others: list[Any] = [document | {"version": 2}, document | {"kind": "x"}, {}, [], document | {"definitions": 1}]
    for other in others:
        with pytest.raises(SourceError, match=r"is not a recording|version 2 of the form"):
            RecordingManifest.load(json.dumps(other).encode())


@pytest.mark.parametrize(
    "found,members",
    [
        (SourceObject("a/b", {"apiVersion": "g/v1"}), {"key": "a/b", "object": {"apiVersion": "g/v1"}}),
        (SourceObject("a", {"apiVersion": "g/v1"}, is_stored=True), {"key": "a", "storedVersion": "v1", "object": {"apiVersion": "g/v1"}}),
        (SourceObject("a", {}, is_stored=True, problem="p"), {"key": "a", "problem": "p", "object": {}}),
    ],
)
def test_objects_are_read_back(found: SourceObject, members: dict[str, object]) -> None:
    """Write an object on a line, with its stored version or its problem."""
    line = dump_object(found)

    assert (json.loads(line), line.count(b"\n")) == (members, 1)
    assert load_object(line) == found


def test_damaged_lines() -> None:
    """Refuse other lines."""
    for line in (b"{", b"[]", b"{}", b'"x"'):
        with pytest.raises(SourceError):
            load_object(line)


def test_members_stay_in_the_archive() -> None:
    """Quote names, so that no member is elsewhere."""
    assert objects_member("../x") == "objects/..%2Fx.jsonl"
