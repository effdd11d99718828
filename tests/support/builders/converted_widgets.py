"""Widgets of two versions, with a Conversion whose rules cannot express everything."""

from __future__ import annotations

from typing import Any, Final

from tests.support.builders.crds import crd, version

NAME: Final = "widgets.example.com"


def _fields(**types: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": found} if isinstance(found, str) else found for name, found in types.items()}}


def _keyed(**types: Any) -> dict[str, Any]:
    items = _fields(**types) | {"required": ["name"]}
    return {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": items}


def _schema(**spec: Any) -> dict[str, Any]:
    return _fields(spec=_fields(**spec), status=_fields(phase="string"))


OLD: Final = _schema(size="integer", image="string", ports=_keyed(name="string", port="integer"), legacy="string")
NEW: Final = _schema(
    capacity="integer",
    image="string",
    ports=_keyed(name="string", port="integer", protocol="string"),
    zone="string",
)


def widgets_crd(*, storage: str = "v2", **spec: Any) -> dict[str, Any]:
    """Return the CRD: v1 has spec.size and spec.legacy, v2 has spec.capacity, spec.zone and protocols of ports."""
    schemas = {"v1": OLD, "v2": NEW}
    versions = [version(name, storage=name == storage, schema=schema, subresources={"status": {}}) for name, schema in schemas.items()]
    return crd("widgets", *versions, **spec)


def conversion(*rules: dict[str, Any], name: str = NAME) -> dict[str, Any]:
    """Return the Conversion with these rules; by default size becomes capacity."""
    found = list(rules) or [{"rename": {"path": "spec.size", "to": "capacity"}}]
    return {
        "apiVersion": "conversions.apiext.dev/v1alpha1",
        "kind": "Conversion",
        "metadata": {"name": name},
        "spec": {"hub": "v2", "spokes": [{"version": "v1", "rules": found}]},
    }


def old_widget(name: str = "a", **spec: Any) -> dict[str, Any]:
    """Return a widget of v1."""
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def new_widget(name: str = "a", **spec: Any) -> dict[str, Any]:
    """Return a widget of v2."""
    return old_widget(name, **spec) | {"apiVersion": "example.com/v2"}
