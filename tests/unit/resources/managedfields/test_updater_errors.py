"""Tests of the errors of writes that compare or prune in other versions: each begins with the step that failed (merge/update.go)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from apiext.resources.managedfields import field_set, validation
from apiext.resources.managedfields.managers import Manager, Managers, VersionedSet
from apiext.resources.managedfields.structural_types import from_schema
from apiext.resources.managedfields.updater import TypedValue, Updater
from apiext.schema.model import Structural

ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "x": {"type": "string"}}}
ITEMS = {"type": "array", "items": ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
SPEC = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "items": ITEMS}}
TYPE = from_schema(Structural({"type": "object", "properties": {"spec": SPEC}}))
LIVE = {"a": "1", "b": "1"}
A, B = "f:a", "f:b"
NAMED, KEPT = 'k:{"name":"i"}', 'k:{"name":"kept"}'


@dataclass(frozen=True)
class Breaking:
    """Converts by another apiVersion, and fails where `breaks` says so, given the spec and both versions."""

    breaks: Callable[[dict[str, Any], str, str], bool]

    async def convert(self, value: TypedValue, version: str) -> TypedValue:
        """See VersionConverter.convert."""
        if self.breaks(value.value.get("spec") or {}, value.version, version):
            raise ValueError(f"no way to {version}")
        converted = value.value | {"apiVersion": version}
        validation.check(TYPE, converted)
        return TypedValue(converted, TYPE, version)


def _owns(version: str, *names: str, applied: bool = False) -> VersionedSet:
    return VersionedSet(field_set.from_paths(*(("f:spec", *name.split("/")) for name in names)), version, applied=applied)


@dataclass(frozen=True)
class Case:
    """An apply of `config` in v1 by the manager "me", and its error."""

    breaks: Callable[[dict[str, Any], str, str], bool]
    expected: str
    mine: VersionedSet | None = None
    others: dict[str, VersionedSet] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    live: dict[str, Any] = field(default_factory=lambda: LIVE)


OTHER = {"other": _owns("v3", B)}
CASES = {
    "live object": Case(lambda _spec, _source, target: target == "v3", "no way to v3", others=OTHER),
    "new object": Case(
        lambda spec, _source, target: target == "v3" and spec["a"] == "2",
        "failed to convert new object: no way to v3",
        others=OTHER,
        config={"a": "2"},
    ),
    "new object without fields of an earlier apply": Case(
        lambda spec, _source, target: target == "v3" and "a" not in spec,
        "failed to prune fields: failed add back owned items: failed to convert pruned object at version v3: no way to v3",
        _owns("v1", A, applied=True),
        OTHER,
    ),
    "merged object to the last version": Case(
        lambda spec, _source, target: target == "v2" and spec["b"] == "2",
        "failed to prune fields: failed to convert merged object to last applied version: no way to v2",
        _owns("v2", A, applied=True),
        config={"b": "2"},
    ),
    "merged object to the version of another manager": Case(
        lambda spec, _source, target: target == "v3" and spec["b"] == "2",
        "failed to prune fields: failed add back owned items: failed to convert merged object at version v3: no way to v3",
        _owns("v2", A, applied=True),
        OTHER,
        {"b": "2"},
    ),
    "merged object, of which all fields are applied again": Case(
        lambda spec, _source, target: target == "v3" and spec["a"] == "2",
        "failed to prune fields: failed add back owned items: failed to convert merged object at version v3: no way to v3",
        _owns("v1", A, applied=True),
        OTHER,
        {"a": "2"},
    ),
    "merged object to the version of the apply": Case(
        lambda spec, source, target: source == "v2" and target == "v1" and "a" in spec,
        "failed to prune fields: failed add back owned items: failed to convert merged object at version v1: no way to v1",
        _owns("v2", A, applied=True),
        config={"b": "2"},
    ),
    "pruned object to the version of the apply": Case(
        lambda spec, source, target: source == "v2" and target == "v1" and "a" not in spec,
        "failed to prune fields: failed add back owned items: failed to convert pruned object at version v1: no way to v1",
        _owns("v2", A, applied=True),
        config={"b": "2"},
    ),
    "pruned object to the last version": Case(
        lambda spec, source, target: source == "v1" and target == "v2" and "a" not in spec,
        "failed to prune fields: failed add back dangling items: failed to convert pruned object to last applied version: no way to v2",
        _owns("v2", A, applied=True),
        config={"b": "2"},
    ),
    "item without its key": Case(
        lambda *_: False,
        "failed to compare objects: .spec.items: element 0: associative list with keys may not have a null element",
        _owns("v1", f"f:items/{NAMED}/f:name", applied=True),
        {"other": _owns("v1", f"f:items/{KEPT}", f"f:items/{KEPT}/f:name")},
        live={"items": [{"name": "i"}, {"name": "kept"}]},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_errors(case: Case) -> None:
    """Name the step in which an object has no conversion or is invalid."""
    me = Manager("me", "Apply")
    managers: Managers = {Manager(name, "Update"): owned for name, owned in case.others.items()}
    managers |= {} if case.mine is None else {me: case.mine}
    live, config = (TypedValue({"apiVersion": "v1", "spec": spec}, TYPE, "v1") for spec in (case.live, case.config))
    with pytest.raises(ValueError, match=f"^{re.escape(case.expected)}$"):
        await Updater(Breaking(case.breaks)).apply(live, config, managers, me, force=True)


async def test_last_step() -> None:
    """Name only the pruning where its result cannot be converted back to the version of the apply."""
    calls: list[str] = []

    def breaks(_spec: dict[str, Any], _source: str, target: str) -> bool:
        calls.append(target)
        return calls.count("v1") > 2

    me = Manager("me", "Apply")
    live, config = (TypedValue({"apiVersion": "v1", "spec": spec}, TYPE, "v1") for spec in (LIVE, {"b": "2"}))
    with pytest.raises(ValueError, match=r"^failed to prune fields: no way to v1$"):
        await Updater(Breaking(breaks)).apply(live, config, {me: _owns("v2", A, applied=True)}, me, force=True)


async def test_item_that_loses_its_key() -> None:
    """Remove an item of which another manager owns nothing but the item itself, and an unowned one only if the manager applied it."""
    me = Manager("me", "Apply")
    last = _owns("v1", f"f:items/{NAMED}", f"f:items/{NAMED}/f:name", applied=True)
    items = [{"name": "i", "x": "1"}, {"name": "kept"}]
    live, config = (TypedValue({"apiVersion": "v1", "spec": spec}, TYPE, "v1") for spec in ({"items": items}, {"b": "1"}))
    managers = {me: last, Manager("other", "Update"): _owns("v1", f"f:items/{NAMED}", f"f:items/{NAMED}/f:x")}
    merged, _ = await Updater(Breaking(lambda *_: False)).apply(live, config, managers, me, force=True)

    assert merged is not None
    assert merged.value == {"apiVersion": "v1", "spec": {"items": [{"name": "kept"}], "b": "1"}}
