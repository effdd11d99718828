"""Tests of the updater: sequences of writes by several managers, against the reference."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apiext.resources.managedfields import field_set, validation
from apiext.resources.managedfields.managers import Manager, Managers
from apiext.resources.managedfields.merge_types import MergeType
from apiext.resources.managedfields.structural_types import from_schema
from apiext.resources.managedfields.updater import ApplyConflictError, MissingVersionError, TypedValue, Updater
from apiext.schema.model import Structural
from tests.support.field_sets import written

CASES = json.loads((Path(__file__).parent / "data" / "scenarios.json").read_text())
TYPES = {name: from_schema(Structural(schema)) for name, schema in CASES["schemas"].items()}
API_VERSION = {"f:apiVersion": field_set.LEAF}


@dataclass(frozen=True)
class Renamer:
    """Converts between versions by renaming fields of the object."""

    versions: list[str]
    renames: Mapping[str, Mapping[str, str]]
    """New names of fields, by version and name in the first version."""
    merge_type: MergeType

    async def convert(self, value: TypedValue, version: str) -> TypedValue:
        """See VersionConverter.convert."""
        if version not in self.versions:
            raise MissingVersionError(version)
        if value.version == version:
            return value
        back = {new: old for old, new in self.renames.get(value.version, {}).items()}
        there = self.renames.get(version, {})
        names = {name: back.get(name, name) for name in value.value}
        converted = {there.get(names[name], names[name]): item for name, item in value.value.items()} | {"apiVersion": version}
        validation.check(self.merge_type, converted)
        return TypedValue(converted, self.merge_type, version)


def described(managers: Managers) -> dict[str, Any]:
    """Return managers as the results of the reference describe them."""
    return {manager.name: [written(managed.fields), managed.version, managed.applied] for manager, managed in managers.items()}


async def write(step: dict[str, Any], case: dict[str, Any], live: Any, managers: Managers) -> tuple[Any, Managers, dict[str, Any]]:
    """Do one step and return object, managers and what else is to be compared."""
    merge_type = TYPES[step.get("schema", case["schema"])]
    versions = step.get("versions", case.get("versions", []))
    converter = Renamer(versions or [step["version"]], case.get("rename", {}), merge_type)
    manager = Manager(step["manager"], "")
    seen: dict[str, Any] = {}
    current = TypedValue(live, merge_type, live.get("apiVersion", step["version"]))
    try:
        validation.check(merge_type, live, duplicates=True)
        current = await converter.convert(current, step["version"])
        given = TypedValue(step["object"], merge_type, step["version"])
        updater = Updater(converter, case.get("exclude", {}))
        if step["op"] == "update":
            validation.check(merge_type, given.value, duplicates=True)
            current, managers = given, await updater.update(current, given, managers, manager)
        else:
            validation.check(merge_type, given.value)
            result, managers = await updater.apply(current, given, managers, manager, force=step["op"] == "force")
            if result is None:
                seen["noop"] = True
            current = result or current
        live = current.value or {}
    except ApplyConflictError as error:
        seen["conflicts"] = sorted(
            f"conflict with {json.dumps(owner.name)}: {path}" for owner, paths in error.conflicts.items() for path in paths
        )
    except validation.InvalidValueError as error:
        seen["error"] = str(error)
    if versions and manager in managers and not seen.keys() - {"noop"}:
        fields = field_set.difference(managers[manager].fields, API_VERSION)
        managers = managers | {manager: managers[manager]._replace(fields=fields)}
        if not fields:
            del managers[manager]
    return live, managers, seen


@pytest.mark.parametrize("case", CASES["scenarios"], ids=lambda case: case["name"])
async def test_scenarios(case: dict[str, Any]) -> None:
    """Compare object, managers, conflicts and errors after each write."""
    live: Any = {"apiVersion": case["steps"][0]["version"]} if "versions" in case else {}
    managers: Managers = {}
    for number, (step, expected) in enumerate(zip(case["steps"], case["results"], strict=True)):
        live, managers, seen = await write(step, case, live, managers)
        wanted = {name: value for name, value in expected.items() if name not in ("live", "managers")}
        if "error" in wanted:
            seen["error"] = wanted["error"] if wanted["error"].endswith(seen.get("error", "?")) else seen
        assert (number, seen) == (number, wanted)
        assert (number, described(managers)) == (number, expected["managers"])
        assert (number, live) == (number, expected["live"])
