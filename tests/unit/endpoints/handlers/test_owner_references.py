"""Owner references that stand twice."""

from apiext.endpoints.handlers.owner_references import dedup_owner_references


def test_duplicates_are_dropped() -> None:
    """Equal references are kept once, with a warning; those that differ in anything are left alone."""
    one, other = {"uid": "u", "name": "a"}, {"uid": "u", "name": "b"}
    metadata = {"ownerReferences": [one, other, dict(one)]}
    obj = {"metadata": metadata}
    warnings: list[str] = []

    dedup_owner_references(obj, warnings)

    assert obj["metadata"]["ownerReferences"] == [one, other]
    assert len(metadata["ownerReferences"]) == 3
    assert len(warnings) == 1
    assert warnings[0].startswith(".metadata.ownerReferences contains duplicate entries; API server dedups")
    assert warnings[0].endswith("duplicate UID(s) observed: u")


def test_without_duplicates_nothing_happens() -> None:
    """Objects without references, or with different ones, stay the same."""
    warnings: list[str] = []
    for obj in ({}, {"metadata": None}, {"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "b"}]}}):
        dedup_owner_references(obj, warnings)

    assert warnings == []


def test_owners_without_end() -> None:
    """The time is in proportion to their number."""
    owners = [{"kind": "Pod", "name": "p", "uid": str(number % 40_000), "controller": True} for number in range(40_001)]
    obj, warnings = {"metadata": {"ownerReferences": owners}}, list[str]()
    dedup_owner_references(obj, warnings)

    assert obj["metadata"]["ownerReferences"] == owners[:-1]
    assert warnings[0].endswith("duplicate UID(s) observed: 0")
