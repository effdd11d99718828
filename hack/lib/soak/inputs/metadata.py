"""Names and metadata of objects that are long, many or odd."""

import time
from typing import Any, Final
from urllib.parse import quote

from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import API_VERSION, ATTACKED, GROUP

_LONG: Final = 60_000
"""Bytes that a request line can carry."""


def names(attack: Attack) -> None:
    """Request long names, encoded names, and names with invalid bytes."""
    odd = [
        "%ff",
        "%00",
        "..",
        ".",
        "%2e%2e",
        "%2f" * 3_000,
        "%e2%82",
        "é".encode().hex(),
        quote("é" * 5_000),
        "a" * _LONG,
        "%",
        "%zz",
        "+",
        "~",
        "%0d%0aX:%20y",
    ]
    odd += ["a/" * 9_000, "a" * 253, "a." * 126 + "a", "//", "a;b=c", "a%20b", "%25" * 9_000, "*", "a:b@c"]
    for name in attack.some(odd):
        for method in ("GET", "DELETE", "PUT", "PATCH"):
            attack.ask(method, f"{ATTACKED}/{name}")
        attack.ask("GET", f"/apis/{GROUP}/v1/namespaces/{name}/widgets")
        attack.ask("GET", f"/apis/{name}/v1/widgets")
        attack.ask("GET", f"/{name}")


def names_of_new_objects(attack: Attack) -> None:
    """Create objects with long and odd names."""
    for name in attack.some(("a" * 2_000_000, "\0", "%", "..", "é" * 500_000, "a." * 1_000_000, "-" * 1_000_000, "/" * 1_000_000, "a\nb")):
        for field in ("name", "generateName", "namespace"):
            _post(attack, {field: name} if field != "namespace" else {"name": "a", field: name})


def many_labels(attack: Attack) -> None:
    """Create objects with many or large labels, annotations and finalizers."""
    count = attack.size(100_000, 5_000)
    keys = {f"k{number}": "v" for number in range(count)}
    for metadata in (
        {"labels": keys},
        {"labels": {f"{'a.' * 100}{number}/x": "!" for number in range(count // 20)}},
        {"labels": {"a/" * count: "v"}},
        {"labels": {"a": "v" * 20 * count}},
        {"annotations": keys},
        {"annotations": {"a" * 20 * count: "x"}},
        {"annotations": {"a": "x" * 20 * count}},
        {"finalizers": [f"example.com/f{number}" for number in range(count)]},
        {"finalizers": ["a/b/c" * 100] * (count // 50)},
    ):
        _post(attack, metadata)


def many_owners(attack: Attack) -> None:
    """Create objects with many owner references and entries of managed fields."""
    count = attack.size(20_000, 2_000)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    entry = {"manager": "m", "operation": "Update", "apiVersion": API_VERSION, "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1"}
    fields: dict[str, Any] = {f"f:k{number}": {} for number in range(count)}
    deep: dict[str, Any] = {}
    for _ in range(80):
        deep = {"f:a": deep}
    for metadata in (
        {"ownerReferences": [owner] * count},
        {"ownerReferences": [owner | {"uid": f"u{number}"} for number in range(count)]},
        {"managedFields": [entry] * (count // 2)},
        {"managedFields": [entry | {"fieldsV1": fields}]},
        {"managedFields": [entry | {"fieldsV1": deep}] * 100},
        {"managedFields": [entry | {"manager": "m" * 50 * count}]},
    ):
        _post(attack, metadata)


def odd_values(attack: Attack) -> None:
    """Create objects with long times, odd types and texts that are no Unicode."""
    values = [
        "1" * 100_000,
        "2020-01-01T00:00:00." + "0" * 100_000 + "Z",
        "9999-12-31T23:59:59Z",
        "0000-00-00T00:00:00Z",
        "\ud800",
        "\0",
        -1,
        1e308,
    ]
    values += [10**30, [[]] * 10_000, {"a": 1}, True, "+" * 100_000]
    for value in attack.some(values):
        for field in (
            "creationTimestamp",
            "deletionTimestamp",
            "resourceVersion",
            "uid",
            "generation",
            "selfLink",
            "labels",
            "ownerReferences",
        ):
            _post(attack, {"name": "odd", field: value})
        _post(attack, {"labels": {"a": value}, "annotations": {"b": value}, "name": "odd"})


def _post(attack: Attack, metadata: dict[str, Any]) -> None:
    body = {"apiVersion": API_VERSION, "kind": "Widget", "metadata": {"name": f"m{time.monotonic_ns()}"} | metadata}
    attack.ask("POST", f"{ATTACKED}?dryRun=All", body)


INPUTS: Final = (names, names_of_new_objects, many_labels, many_owners, odd_values)
