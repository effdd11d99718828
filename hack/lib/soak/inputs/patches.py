"""Patches that grow an object, or compare and move much of it many times."""

import json
from typing import Any, Final

from hack.lib.soak.attack import JSON_PATCH, MERGE_PATCH, Attack
from hack.lib.soak.collection import API_VERSION, ATTACKED, widget

_ONE: Final = f"{ATTACKED}/patched"


def _create(attack: Attack, **spec: Any) -> None:
    attack.ask("DELETE", _ONE)
    attack.ask("POST", ATTACKED, widget("patched", **spec))


def _json_patch(attack: Attack, *operations: dict[str, Any], query: str = "") -> int:
    return attack.ask("PATCH", _ONE + query, json.dumps(operations).encode(), JSON_PATCH)


def growth_by_merge(attack: Attack) -> None:
    """Add 2.9 MB with each of four merge patches, then patch the large object."""
    _create(attack)
    for number in range(4):
        attack.ask("PATCH", _ONE, {"spec": {"any": {f"part{number}": "x" * attack.size(2_900_000, 1_000_000)}}}, MERGE_PATCH)
    attack.ask("PATCH", _ONE, {"spec": {"any": {f"k{number}": None for number in range(attack.size(150_000, 5_000))}}}, MERGE_PATCH)
    attack.ask("GET", _ONE, headers={"Accept": "application/yaml"})


def merge_shapes(attack: Attack) -> None:
    """Merge deep, wide and repeated members."""
    _create(attack)
    depth, width = attack.size(100_000, 9_000), attack.size(200_000, 10_000)
    for text in (
        '{"spec":' + '{"any":' * depth + "1" + "}" * (depth + 1),
        '{"spec":{"any":{' + ",".join(f'"k{number}":{{"a":{{}}}}' for number in range(width // 2)) + "}}}",
        '{"spec":{"any":{' + ",".join(['"a":{"b":1}'] * width) + "}}}",
    ):
        attack.ask("PATCH", _ONE, text.encode(), MERGE_PATCH)


def growth_by_copy(attack: Attack) -> None:
    """Double a member with each copy of a JSON patch, and copy a large member 10,000 times."""
    _create(attack, any={"a": ["x" * 100]})
    double = {"op": "copy", "from": "/spec/any/a", "path": "/spec/any/a/-"}
    for count in (10, 25, attack.size(60, 30)):
        _json_patch(attack, *[double] * count)
    _create(attack, any={"a": "x" * 500_000, "list": []})
    _json_patch(attack, *[{"op": "copy", "from": "/spec/any/a", "path": "/spec/any/list/-"}] * attack.size(10_000, 500))


def comparison_and_move(attack: Attack) -> None:
    """Test, move, insert and remove in a long list, with the maximum of operations."""
    length = attack.size(100_000, 10_000)
    _create(attack, any={"list": list(range(length)), "same": list(range(length))})
    many = attack.size(10_000, 1_000)
    _json_patch(attack, *[{"op": "test", "path": "/spec/any/list", "value": list(range(length))}] * attack.size(4, 2))
    for operation in (
        {"op": "move", "from": "/spec/any/list/0", "path": "/spec/any/list/-"},
        {"op": "move", "from": "/spec/any/list", "path": "/spec/any/list"},
        {"op": "add", "path": "/spec/any/list/0", "value": 1},
        {"op": "remove", "path": "/spec/any/list/0"},
        {"op": "replace", "path": "/spec", "value": {}},
    ):
        _json_patch(attack, *[operation] * many, query="?dryRun=All")
    _json_patch(attack, *[{"op": "add", "path": "/spec/any/list/0", "value": 1}] * (many + 1))


def long_pointers(attack: Attack) -> None:
    """Name deep and long paths, and indexes with many digits."""
    _create(attack, any={"list": [1]})
    length = attack.size(500_000, 20_000)
    for path in ("/a" * length, "/" * length, "/" + "~1" * length, "/" + "~" * length, f"/spec/any/list/{'1' * length}", "x" * length):
        for operation in ("add", "remove", "test"):
            _json_patch(attack, {"op": operation, "path": path, "value": 1})


def patches_of_other_types(attack: Attack) -> None:
    """Send a strategic patch, an apply patch, patches that are not a list, and patches with a syntax error at the end."""
    _create(attack)
    large = b'{"spec":{"any":{"list":[' + b"1," * attack.size(1_400_000, 50_000)
    applied = f"apiVersion: {API_VERSION}\nkind: Widget\nspec: {{any: {{list: [{'1,' * attack.size(900_000, 50_000)}]}}}}\n".encode()
    for media_type, body in (
        ("strategic-merge-patch+json", large + b"1]}}}"),
        ("strategic-merge-patch+json", b'{"$setElementOrder/a":[],"$retainKeys":[' + b'"a",' * attack.size(500_000, 9_000) + b'"a"]}'),
        ("apply-patch+yaml", applied),
        ("apply-patch+cbor", large),
        ("merge-patch+json", large),
        ("json-patch+json", large),
        ("json-patch+json", b"[" + b"{}," * attack.size(900_000, 9_000) + b"{}]"),
        ("json-patch+json", b"[" + b'{"op":"test"},' * 9_999 + b"{}]"),
    ):
        attack.ask("PATCH", f"{_ONE}?fieldManager=soak", body, {"Content-Type": f"application/{media_type}"})


def patches_of_status_and_scale(attack: Attack) -> None:
    """Patch missing subresources with large bodies."""
    _create(attack)
    body = {"status": {"list": [1] * attack.size(900_000, 9_000)}}
    for subresource in ("status", "scale", "none", "status/status"):
        attack.ask("PATCH", f"{_ONE}/{subresource}", body, MERGE_PATCH)


INPUTS: Final = (
    growth_by_merge,
    merge_shapes,
    growth_by_copy,
    comparison_and_move,
    long_pointers,
    patches_of_other_types,
    patches_of_status_and_scale,
)
