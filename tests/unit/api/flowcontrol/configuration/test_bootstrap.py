"""The bootstrap objects."""

from apiext.api.flowcontrol.configuration.bootstrap import (
    MANDATORY_FLOW_SCHEMAS,
    MANDATORY_PRIORITY_LEVELS,
    SUGGESTED_FLOW_SCHEMAS,
    SUGGESTED_PRIORITY_LEVELS,
)


def test_names() -> None:
    """Have the names of the reference; tests/differential compares the contents."""
    levels, schemas = MANDATORY_PRIORITY_LEVELS + SUGGESTED_PRIORITY_LEVELS, MANDATORY_FLOW_SCHEMAS + SUGGESTED_FLOW_SCHEMAS

    assert {obj["kind"] for obj in levels} == {"PriorityLevelConfiguration"}
    assert {obj["kind"] for obj in schemas} == {"FlowSchema"}
    assert len({obj["metadata"]["name"] for obj in levels}) == len(levels) == 8
    assert len({obj["metadata"]["name"] for obj in schemas}) == len(schemas) == 11
