"""The choice of versions for updates."""

from apiext.tools.replay.definition_walk import MAX_WRITES, rounds_of


def test_rounds() -> None:
    """Update each object in each version, if they are few."""
    assert rounds_of(["a", "b"], ["v1", "v2"]) == [{"a": "v1", "b": "v1"}, {"a": "v2", "b": "v2"}]


def test_one_round() -> None:
    """Update each of many objects in one version, and use all versions."""
    keys = [str(number) for number in range(MAX_WRITES)]

    (targets,) = rounds_of(keys, ["v1", "v2"])

    assert list(targets) == keys
    assert [list(targets.values()).count(version) for version in ("v1", "v2")] == [MAX_WRITES // 2, MAX_WRITES // 2]
