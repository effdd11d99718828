"""Conversion objects of right and of wrong form."""

from typing import Any, Final

ACCEPTED: Final[list[Any]] = [
    {"rename": {"path": "spec.size", "to": "capacity"}},
    {"move": {"from": "spec.region", "to": "spec.placement.region"}},
    {"copy": {"from": "spec.name", "to": "spec.displayName"}},
    {"default": {"path": "spec.tier", "value": "standard", "in": "hub"}},
    {"default": {"path": "spec.limits", "value": {"a": [1]}}},
    {"enum": {"path": "spec.mode", "map": {"fast": "Fast"}, "back": {"Turbo": "fast"}}},
    {"enum": {"path": "spec.level", "values": [{"from": 1, "to": "One"}], "backValues": [{"from": "Two", "to": 1.5}]}},
    {"enum": {"path": "spec.mode", "back": {"Turbo": "fast"}}},
    {"wrap": {"path": "spec.host", "field": "name"}},
    {"wrap": {"path": "spec.host", "list": True}},
    {"unwrap": {"path": "spec.owner", "field": "name"}},
    {"split": {"path": "spec.image", "to": ["spec.repository", "spec.tag"], "separator": ":", "last": True}},
    {"join": {"paths": ["spec.host", "spec.port"], "to": "spec.address", "separator": ":"}},
    {"listToMap": {"path": "spec.env", "key": "name", "value": "value"}},
    {"mapToList": {"path": "spec.labels", "key": "name"}},
    {"drop": {"path": "spec.legacy", "reason": "unused", "in": "spoke"}},
    {"expression": {"toHub": [{"path": "spec.total", "value": "self.spec.a"}], "toSpoke": []}},
]


def _object(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "conversions.apiext.dev/v1alpha1",
        "kind": "Conversion",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"hub": "v2"} | spec,
    }


def with_rules(*rules: Any) -> dict[str, Any]:
    """Return a Conversion with rules of v1."""
    return _object(spokes=[{"version": "v1", "rules": list(rules)}])


REFUSED: Final[dict[str, Any]] = {
    "no hub": {
        "apiVersion": "conversions.apiext.dev/v1alpha1",
        "kind": "Conversion",
        "metadata": {"name": "widgets.example.com"},
        "spec": {},
    },
    "no spec": {"apiVersion": "conversions.apiext.dev/v1alpha1", "kind": "Conversion", "metadata": {"name": "widgets.example.com"}},
    "name": _object() | {"metadata": {"name": "widgets"}},
    "unknown member": _object(spoke=[]),
    "hub's name": _object(hub="V2"),
    "hub as a spoke": _object(spokes=[{"version": "v2"}]),
    "a spoke twice": _object(spokes=[{"version": "v1"}, {"version": "v1"}]),
    "no version": _object(spokes=[{}]),
    "empty rule": with_rules({}),
    "two kinds": with_rules({"rename": {"path": "spec.a", "to": "b"}, "move": {"from": "spec.a", "to": "spec.b"}}),
    "unknown kind": with_rules({"swap": {"path": "spec.a"}}),
    "no target": with_rules({"move": {"from": "spec.a"}}),
    "path's type": with_rules({"move": {"from": 1, "to": "spec.a"}}),
    "side": with_rules({"default": {"path": "spec.a", "value": 1, "in": "both"}}),
    "default without a value": with_rules({"default": {"path": "spec.a"}}),
    "field and list": with_rules({"wrap": {"path": "spec.a", "field": "b", "list": True}}),
    "neither field nor list": with_rules({"unwrap": {"path": "spec.a"}}),
    "no list": with_rules({"unwrap": {"path": "spec.a", "list": False}}),
    "map and values": with_rules({"enum": {"path": "spec.a", "map": {"a": "b"}, "values": [{"from": 1, "to": 2}]}}),
    "no values": with_rules({"enum": {"path": "spec.a"}}),
    "an object as a value": with_rules({"enum": {"path": "spec.a", "values": [{"from": {}, "to": 2}]}}),
    "a list as a value": with_rules({"enum": {"path": "spec.a", "values": [{"from": 1, "to": [1]}]}}),
    "map's value": with_rules({"enum": {"path": "spec.a", "map": {"a": 1}}}),
    "one part": with_rules({"split": {"path": "spec.a", "to": ["spec.b"], "separator": ":"}}),
    "separator": with_rules({"join": {"paths": ["spec.a", "spec.c"], "to": "spec.b", "separator": ""}}),
    "no reason": with_rules({"drop": {"path": "spec.a"}}),
    "empty reason": with_rules({"drop": {"path": "spec.a", "reason": ""}}),
    "no direction": with_rules({"expression": {}}),
    "no expression": with_rules({"expression": {"toHub": [{"path": "spec.a"}]}}),
}
