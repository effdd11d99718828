"""The configuration that objects make."""

from apiext.api.flowcontrol.configuration.bootstrap import SUGGESTED_FLOW_SCHEMAS, SUGGESTED_PRIORITY_LEVELS
from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP, MANDATORY, Configuration, configuration_steps
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.steps import at_once
from tests.unit.api.flowcontrol.configuration.test_flow_schema import schema
from tests.unit.api.flowcontrol.configuration.test_priority_level import limited


def configuration(schemas: list[Object], levels: list[Object]) -> Configuration:
    """Return the configuration of objects."""
    return at_once(configuration_steps(schemas, levels))


def named(obj: Object, name: str) -> Object:
    """Return the object with another name."""
    return obj | {"metadata": {"name": name, "uid": name}}


def test_mandatory_objects_always_apply() -> None:
    """Add the mandatory objects where they are missing: one before all others, one after them."""
    found = configuration([schema(matchingPrecedence=10000)], [limited()])

    assert [one.name for one in found.schemas] == ["exempt", "fs", "catch-all"]
    assert found.levels.keys() == {"exempt", "catch-all", "pl"}
    assert [one.name for one in MANDATORY.schemas] == ["exempt", "catch-all"]


def test_given_mandatory_objects_are_used() -> None:
    """Use the mandatory objects of the source with their uids."""
    catch_all: Object = {"priorityLevelConfiguration": {"name": "catch-all"}}
    found = configuration([named({"spec": catch_all}, "catch-all")], [named(limited(), "catch-all")])

    assert [(one.name, one.uid) for one in found.schemas] == [("exempt", ""), ("catch-all", "catch-all")]
    assert found.levels["catch-all"].uid == "catch-all"


def test_orders_by_precedence_then_name() -> None:
    """Order by precedence; among equal ones by name."""
    schemas = [
        named(schema(matchingPrecedence=5), "b"),
        named(schema(matchingPrecedence=5), "a"),
        named(schema(matchingPrecedence=4), "c"),
    ]

    assert [one.name for one in configuration(schemas, [limited()]).schemas] == ["exempt", "c", "a", "b", "catch-all"]


def test_names_what_cannot_be_used() -> None:
    """Leave out objects that are invalid or refer to a missing priority level, and name each."""
    broken = named(limited(lendablePercent=200), "broken")
    found = configuration(
        [schema(), schema(matchingPrecedence="x"), named(schema(priorityLevelConfiguration={"name": "broken"}), "d"), {"metadata": 3}],
        [limited(), broken | {"kind": "PriorityLevelConfiguration"}],
    )

    assert [one.name for one in found.schemas] == ["exempt", "fs", "catch-all"]
    assert found.problems == (
        "PriorityLevelConfiguration 'broken': lendablePercent must be between 0 and 100",
        "FlowSchema 'fs': matchingPrecedence has the wrong type",
        "None None: metadata has the wrong type",
        "FlowSchema 'd': there is no usable priority level 'broken'",
    )


def test_bootstrap_objects_are_usable() -> None:
    """Use all bootstrap objects."""
    assert not BOOTSTRAP.problems
    assert len(BOOTSTRAP.schemas) == len(SUGGESTED_FLOW_SCHEMAS) + 2
    assert len(BOOTSTRAP.levels) == len(SUGGESTED_PRIORITY_LEVELS) + 2
