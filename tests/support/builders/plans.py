"""Builds definitions with status, releases, objects and plans for tests of `apiext plan`."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

from apiext.resources.comparison.grades import Grades
from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.definition_creation import create_definition, parse_definition
from apiext.tools.plan.options import PlanOptions
from apiext.tools.plan.plan import DefinitionPlan, ReleasePlan
from apiext.tools.plan.planner import make_plan
from apiext.tools.releases.interface import ObjectSource, Release, SourceObject
from tests.support.builders.crds import crd, version

NAME: Final = "widgets.example.com"
WEBHOOK: Final = {
    "strategy": "Webhook",
    "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": "operators", "name": "hook"}}},
}


def schema(*fields: str, **more: Any) -> dict[str, Any]:
    """Return a schema with text fields in spec; `more` has other members of spec."""
    properties = {name: {"type": "string"} for name in fields} | more
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def shaped(name: str, *fields: str, storage: bool = False, **more: Any) -> dict[str, Any]:
    """Return a version with text fields in spec."""
    return version(name, storage=storage, schema=schema(*fields), **more)


def created(
    *versions: dict[str, Any], stored: Sequence[str] = (), plural: str = "widgets", kind: str = "Widget", **spec: Any
) -> Definition:
    """Return an established definition; `stored` is its status.storedVersions if that is not the storage version only."""
    found = asyncio.run(create_definition(canonical(crd(plural, *versions, kind=kind, **spec))))
    if not stored:
        return found
    obj = found.object
    return parse_definition(obj | {"status": obj["status"] | {"storedVersions": list(stored)}})


def release(*definitions: Definition, origin: str = "new", is_live: bool = False) -> Release:
    """Return a release of definitions."""
    return Release(origin, {one.name: one for one in definitions}, is_live=is_live)


def custom(name: str, api_version: str = "v1", *, managers: Sequence[dict[str, Any]] = (), **spec: Any) -> dict[str, Any]:
    """Return a widget as a server returns it."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    if managers:
        metadata["managedFields"] = list(managers)
    return {"apiVersion": f"example.com/{api_version}", "kind": "Widget", "metadata": metadata, "spec": spec}


class ListedObjects:
    """Implements ObjectSource over a list of widgets."""

    origin = "a list"

    def __init__(self, *objects: dict[str, Any], is_stored: bool = False) -> None:
        self._objects = [SourceObject(f"default/{one['metadata']['name']}", one, is_stored=is_stored) for one in objects]

    async def count(self, definition: Definition) -> int | None:
        """Return their number."""
        return len(self._objects) if definition.name == NAME else 0

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Yield two pages."""
        if definition.name == NAME:
            half = len(self._objects) // 2
            for page in (self._objects[:half], self._objects[half:]):
                yield page

    async def close(self) -> None:
        """Do nothing."""


def plan_of(
    old: Release | Definition | None,
    new: Release | Definition,
    objects: ObjectSource | None = None,
    *,
    stored: ListedObjects | None = None,
    **options: Any,
) -> ReleasePlan:
    """Return the plan for a release; a definition stands for the release of a server that has it."""
    before = old if isinstance(old, Release) else release(*([old] if old is not None else []), origin="old", is_live=True)
    after = new if isinstance(new, Release) else release(new)
    return asyncio.run(make_plan(before, after, objects=objects, stored=stored, options=PlanOptions(Grades(), **options)))


def only(plan: ReleasePlan) -> DefinitionPlan:
    """Return the plan for the only definition."""
    (found,) = plan.definitions
    return found
