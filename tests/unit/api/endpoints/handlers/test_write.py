"""Steps of a write: duplicate owner references."""

from apiext.api.endpoints.handlers.write import dedup_owner_references


def test_drops_duplicates() -> None:
    """Keep one of equal references with a warning, and all that differ in any member."""
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


def test_keeps_distinct_references() -> None:
    """Keep objects without duplicate references unchanged."""
    warnings: list[str] = []
    for obj in ({}, {"metadata": None}, {"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "b"}]}}):
        dedup_owner_references(obj, warnings)

    assert warnings == []


def test_deduplicates_in_linear_time() -> None:
    """Deduplicate many references in linear time."""
    owners = [{"kind": "Pod", "name": "p", "uid": str(number % 40_000), "controller": True} for number in range(40_001)]
    obj, warnings = {"metadata": {"ownerReferences": owners}}, list[str]()
    dedup_owner_references(obj, warnings)

    assert obj["metadata"]["ownerReferences"] == owners[:-1]
    assert warnings[0].endswith("duplicate UID(s) observed: 0")
