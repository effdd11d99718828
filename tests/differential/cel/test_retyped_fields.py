"""Rules about changes of objects that were written before their schema got other types."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.rule_definitions import INTEGER, KEYED, NAMED, STRING, mapping, ruled, several, struct
from tests.support.builders.crds import crd, version

pytestmark = pytest.mark.slow

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP: Final = "retyped.example.com"
PATH: Final = f"/apis/{GROUP}/v1/retypeds"
LISTS: Final = (
    "self == oldSelf",
    "oldSelf.all(x, x > 100)",
    "oldSelf.size() > 100",
    "oldSelf[0] == 99",
    "self.all(x, x in oldSelf) && false",
)
TEXTS: Final = ("self == oldSelf", "self.startsWith(oldSelf)", "oldSelf.size() > 100")
ANY: Final = (
    {"rule": "oldSelf.hasValue() && oldSelf.value() == self && false", "optionalOldSelf": True},
    {"rule": "oldSelf.orValue(self) != self", "optionalOldSelf": True},
    {"rule": "oldSelf == oldSelf && false", "messageExpression": "oldSelf == self ? 'same' : 'changed'"},
)
FIELDS: Final[dict[str, tuple[dict[str, Any], Any]]] = {
    "integer": (ruled(INTEGER, "self >= oldSelf", "self == oldSelf", "oldSelf + 1 > 0", "oldSelf != self", *ANY), 5),
    "number": (ruled({"type": "number"}, "self >= oldSelf", "self == oldSelf", *ANY), 2.5),
    "text": (ruled(STRING, *TEXTS, *ANY), "abc"),
    "flag": (ruled({"type": "boolean"}, "self == oldSelf", "oldSelf && false", *ANY), True),
    "list": (ruled(several(INTEGER, maxItems=5), *LISTS, *ANY), [1, 2]),
    "set": (ruled(several(STRING, maxItems=5) | {"x-kubernetes-list-type": "set"}, *LISTS[:1], *ANY), ["a", "b"]),
    "keyed": (
        ruled(several(NAMED, maxItems=5, **KEYED), "self == oldSelf", "self.all(x, oldSelf.exists(y, y.count > x.count))", *ANY),
        [{"name": "a", "count": 1}],
    ),
    "object": (ruled(struct(a=INTEGER, b=STRING), "self == oldSelf", "self.a > oldSelf.a", "oldSelf.?a.orValue(7) == 8", *ANY), {"a": 1}),
    "map": (ruled(mapping(INTEGER, maxProperties=5), "self == oldSelf", "oldSelf.all(k, oldSelf[k] > 9)", *ANY), {"a": 1, "b": 2}),
    "either": (ruled({"x-kubernetes-int-or-string": True}, "self == oldSelf", "type(oldSelf) == int && false", *ANY), "7"),
    "time": (ruled(STRING | {"format": "date-time"}, "self < oldSelf", *ANY), "2020-01-01T00:00:00Z"),
    "day": (ruled(STRING | {"format": "date"}, "self < oldSelf", *ANY), "2020-01-01"),
    "bytes": (ruled(STRING | {"format": "byte"}, "self == oldSelf", *ANY), "YWJj"),
    "duration": (ruled(STRING | {"format": "duration"}, "self < oldSelf", *ANY), "1h"),
}
"""The new schemas with rules, and values for them. That of the map replaces both keys: else its equality depends on Go's order."""
BEFORE: Final[tuple[Any, ...]] = (
    3, 1.5, "old", "2020-13-01", "YQ==a", True,
    [1], ["a"], [1, "a", True], [{"name": "a"}], [{"count": 1}], {"a": 1}, {"a": "x", "b": "y"}, {"a": {"b": 1}}, {}, [],
)  # fmt: skip


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of Retypeds."""
    return crd("retypeds", version("v1", storage=True, schema=schema), kind="Retyped", group=GROUP, scope="Cluster")


def test_old_values_of_other_types(pair: Pair) -> None:
    """Fail where a rule reads an old value whose type the schema does not permit any more, and only there."""
    free = struct(spec={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    strict = definition(struct(spec=struct(**{name: schema for name, (schema, _) in FIELDS.items()})))
    objects = {f"{field}-{number}": (field, value) for field in FIELDS for number, value in enumerate(BEFORE)}
    found = []
    with pair.served(definition(free)):
        for name, (field, value) in objects.items():
            body = {"apiVersion": f"{GROUP}/v1", "kind": "Retyped", "metadata": {"name": name}, "spec": {field: value}}
            found += pair.differences(Step("POST", PATH, body))
        found += pair.differences(Step("PATCH", f"{DEFINITIONS}/retypeds.{GROUP}", {"spec": {"versions": strict["spec"]["versions"]}}))
        refused = {"apiVersion": f"{GROUP}/v1", "kind": "Retyped", "metadata": {"name": "a"}, "spec": {"flag": 1}}
        found += pair.differences(Step("POST", f"{PATH}?dryRun=All", refused, retry=True, until="must be of type boolean"))
        for name, (field, _) in objects.items():
            for change in ({"spec": {field: FIELDS[field][1]}}, {"metadata": {"labels": {"a": "b"}}}):
                found += pair.differences(Step("PATCH", f"{PATH}/{name}?dryRun=All", change))

    assert found == []
