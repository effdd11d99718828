"""Builds Conversions of the versions v1 and v2, and the schemas and CRDs that they relate."""

from collections.abc import Sequence
from typing import Any, Final

from apiext.schema.compiled import CompiledSchema
from tests.support.builders import conversions
from tests.support.builders.crds import crd, version

NAME: Final = "widgets.example.com"
STRING: Final = {"type": "string"}
INTEGER: Final = {"type": "integer"}


def conversion(*rules: Any, hub: str = "v2", others: Sequence[str] = ()) -> dict[str, Any]:
    """Return a stored Conversion with the rules of v1, and without rules of other versions."""
    found = conversions.conversion(hub, NAME, v1=rules, **dict.fromkeys(others, ()))
    found["metadata"]["generation"] = 1
    return found


def obj(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties} | ({"required": list(required)} if required else {})


def array(items: Any, **more: Any) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": items} | more


def mapped(values: Any) -> dict[str, Any]:
    """Return the schema of a map."""
    return {"type": "object", "additionalProperties": values}


def schemas_of_specs(**specs: Any) -> dict[str, CompiledSchema]:
    """Return the schemas of versions from those of their spec."""
    return {name: CompiledSchema(obj(spec=spec)) for name, spec in specs.items()}


def crd_of_specs(*, storage: str = "v2", **specs: Any) -> dict[str, Any]:
    """Return the CRD of widgets with the schemas of its versions' spec."""
    return crd("widgets", *(version(name, storage=name == storage, schema=obj(spec=spec)) for name, spec in specs.items()))
