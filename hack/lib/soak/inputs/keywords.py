"""Definitions in which one keyword has as much as fits into a request: its first uses must not hold the event loop."""

import json
from typing import Any, Final

from hack.lib.soak.attack import MERGE_PATCH, Attack
from hack.lib.soak.collection import CRDS, GADGET, GADGETS, GROUP, TABLE, definition, widget

_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_TEXT: Final = {"type": "string"}


def _live(attack: Attack, properties: dict[str, Any], valid: dict[str, Any], invalid: dict[str, Any], **version: Any) -> None:
    """Serve a definition with properties of spec, use it in every way for the first and the second time, change it, and delete it."""
    schema = {"type": "object", "properties": properties}
    with attack.defined(definition(GADGETS, GADGET, spec=schema, **version)) as path:
        one, name = f"{path}/valid-0", f"{CRDS}/{GADGETS}.{GROUP}"
        for number in range(2):
            attack.ask("POST", path, widget(f"valid-{number}", kind=GADGET, **valid))
            attack.ask("POST", path, widget("invalid", kind=GADGET, **invalid))
            attack.ask("PUT", one, widget("valid-0", kind=GADGET, **invalid))
            attack.ask("PATCH", f"{one}?fieldManager=m&force=true", json.dumps(widget("valid-0", kind=GADGET, **valid)).encode(), _APPLY)
            attack.ask("PATCH", one, {"metadata": {"labels": {"number": str(number)}}}, MERGE_PATCH)
            for place in (one, path, CRDS):
                attack.ask("GET", place, headers=TABLE)
            attack.ask("GET", path)
            for document in (f"/openapi/v3/apis/{GROUP}/v1", "/openapi/v2"):
                attack.ask("GET", document)
            change = {"metadata": {"labels": {"a": "b"}}} if number else {"spec": {"names": {"categories": ["c"]}}}
            attack.ask("PATCH", name, change, MERGE_PATCH)
        if not attack.reduced:
            attack.ask("GET", f"{path}?watch=true&timeoutSeconds=1", headers=TABLE)


def enumerations(attack: Attack) -> None:
    """Allow very many texts, numbers or objects, or some in each of many properties; and violate that."""
    count = attack.size(120_000, 12_000)
    one = {"type": "object", "properties": {"k": {"type": "integer"}}}
    _live(attack, {"a": {**_TEXT, "enum": [f"v{number}" for number in range(count)]}}, {"a": "v1"}, {"a": "none"})
    _live(attack, {"a": {"type": "integer", "enum": list(range(count))}}, {"a": 1}, {"a": -1})
    _live(attack, {"a": {**one, "enum": [{"k": number} for number in range(count // 2)]}}, {"a": {"k": 1}}, {"a": {"k": -1}})
    names = [f"a{number}" for number in range(count // 300)]
    _live(attack, {name: {**_TEXT, "enum": names} for name in names}, dict.fromkeys(names, "a1"), dict.fromkeys(names, "none"))


def requirements(attack: Attack) -> None:
    """Require very many names, also of the items of a list."""
    names = [f"k{number}" for number in range(attack.size(100_000, 5_000))]
    required = {"type": "object", "properties": {"c": _TEXT}, "required": names}
    _live(attack, {"a": _TEXT, "b": required}, {"a": "x"}, {"b": {}})
    _live(attack, {"a": _TEXT, "b": {"type": "array", "items": required}}, {"a": "x"}, {"b": [{}] * 1_000})


def properties(attack: Attack) -> None:
    """Declare very many properties, with nothing, a pattern, a format or lists with owners."""
    count = attack.size(10_000, 1_500)
    many: tuple[tuple[dict[str, Any], Any, Any], ...] = (
        (_TEXT, "x", 1),
        ({**_TEXT, "format": "date-time"}, "2020-01-01T00:00:00Z", "x"),
        ({"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT}, ["x"], ["x", "x"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}, None, {"a": 1}),
    )
    for schema, valid, invalid in many:
        names = {f"k{number}": schema for number in range(count * (3 if schema is _TEXT else 1))}
        _live(attack, names, {} if valid is None else {"k1": valid}, {"k1": invalid})
    different = {f"k{number}": {**_TEXT, "pattern": f"^a{number}[a-z]+$"} for number in range(count)}
    _live(attack, different, {f"k{number}": f"a{number}b" for number in range(500)}, {f"k{number}": "x" for number in range(500)})


def defaults(attack: Attack) -> None:
    """Set defaults that are long, large or many, also in each item of a list."""
    count = attack.size(100_000, 12_000)
    numbers = {"type": "array", "items": {"type": "integer"}}
    _live(attack, {"a": {**numbers, "default": list(range(count))}, "b": _TEXT}, {"b": "x"}, {"b": 1})
    texts = {"type": "object", "additionalProperties": _TEXT, "default": {f"k{number}": "x" for number in range(count // 2)}}
    _live(attack, {"a": texts, "b": _TEXT}, {"b": "x"}, {"b": 1})
    _live(attack, {"a": {**_TEXT, "default": "x" * count * 10}, "b": _TEXT}, {"b": "x"}, {"b": 1})
    _live(attack, {f"k{number}": {**_TEXT, "default": "x"} for number in range(count // 5)}, {"k1": "y"}, {"k1": 1})
    growing = {"type": "object", "properties": {"a": {**numbers, "default": list(range(count // 50))}}}
    _live(attack, {"l": {"type": "array", "items": growing}}, {"l": [{}] * 100}, {"l": [{}] * 5_000})
    filled = {**numbers, "default": list(range(count // 50))}
    _live(attack, {"l": {"type": "array", "items": filled}}, {"l": [None] * 100}, {"l": [None] * 5_000})


def list_keys(attack: Attack) -> None:
    """Identify the items of a list by very many keys, with defaults or required."""
    names = [f"k{number}" for number in range(attack.size(10_000, 1_000))]
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": names}
    for items in (
        {"type": "object", "properties": {name: {**_TEXT, "default": ""} for name in names}},
        {"type": "object", "properties": dict.fromkeys(names, _TEXT), "required": names},
    ):
        _live(attack, {"l": {**keyed, "items": items}}, {"l": [{"k0": "a"}, {"k0": "b"}]}, {"l": [{"k0": "a"}, {"k0": "a"}]})


def columns(attack: Attack) -> None:
    """Print very many columns, and columns with very long paths; select by long paths."""
    column = {"name": "C", "type": "string", "jsonPath": ".spec.a"}
    text = {"a": _TEXT}
    many = [{**column, "name": f"c{number}"} for number in range(attack.size(15_000, 500))]
    long = [{**column, "jsonPath": ".spec" + ".a" * 9_000}] * attack.size(60, 3)
    costly = [{**column, "jsonPath": ".spec..a" + "['x','x']" * 15}] * attack.size(200, 5)
    for each in (many, long, costly):
        _live(attack, text, {"a": "x"}, {"a": 1}, additionalPrinterColumns=each)
    names = [f"{'k' * attack.size(100_000, 1_000)}{number}" for number in range(7)]
    fields = [{"jsonPath": f".spec.{name}"} for name in names]
    _live(attack, dict.fromkeys(names, _TEXT), {names[0]: "x"}, {names[0]: 1}, selectableFields=fields)


def clauses(attack: Attack) -> None:
    """Combine very many clauses, and rules of very many nodes."""
    count = attack.size(20_000, 1_200)
    for keyword, clause in (("anyOf", "required"), ("oneOf", "enum"), ("allOf", "required")):
        values = [{clause: [f"k{number}"]} for number in range(count)]
        free = {"x-kubernetes-preserve-unknown-fields": True, keyword: values}
        _live(attack, {"b": free}, {"b": {"k1": 1} if clause == "required" else "k1"}, {"b": {"a": 1}})
    ruled = {
        f"k{number}": {**_TEXT, "maxLength": 9, "x-kubernetes-validations": [{"rule": f"self != 'v{number}'"}]}
        for number in range(count // 4)
    }
    _live(attack, ruled, {"k1": "x"}, {f"k{number}": f"v{number}" for number in range(300)})


INPUTS: Final = (enumerations, requirements, properties, defaults, list_keys, columns, clauses)
