"""Builds CustomResourceDefinitions and widgets for tests, and reads real CRDs from a folder beside the checkout."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from apiext.base.meta.encoding import json_codec
from apiext.resources.definitions.catalog import Catalog
from apiext.resources.definitions.codec import canonical
from apiext.resources.definitions.definition import Definition
from apiext.storage.interface import Item


def crd(
    plural: str = "widgets", *versions: dict[str, Any], kind: str = "Widget", group: str = "example.com", **spec: Any
) -> dict[str, Any]:
    """Return a CRD as a client creates it. `spec` replaces members of its spec. Without `versions` it has v1 with arbitrary fields."""
    members = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
        "versions": list(versions) or [version("v1", storage=True)],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": members | spec,
    }


def version(name: str, *, storage: bool = False, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return a served version of a CRD; `more` adds or replaces members."""
    schema = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}} | more


def versions_like(*names: str, **more: Any) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    """Return a function that copies a version under other names. The first name is the storage version."""
    return functools.partial(_versions_like, names, more)


def _versions_like(names: tuple[str, ...], more: dict[str, Any], like: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**like, **more.get(name, {}), "name": name, "storage": name == names[0]} for name in names]


def stored_crd(
    plural: str = "widgets",
    *,
    versions: Sequence[dict[str, Any]] = (),
    names: dict[str, Any] | None = None,
    conditions: dict[str, str] | None = None,
    generation: int = 1,
    **more: Any,
) -> dict[str, Any]:
    """Return a CRD in a server's stored form: established, with accepted names."""
    found = crd(plural, *versions, **more)
    found["metadata"] |= {"uid": f"uid-of-{plural}", "generation": generation}
    found["spec"]["names"] |= names or {}
    found["spec"]["conversion"] = {"strategy": "None"}
    given = {"Established": "True", "NamesAccepted": "True"} | (conditions or {})
    found["status"] = {
        "acceptedNames": found["spec"]["names"],
        "storedVersions": [],
        "conditions": [{"type": condition, "status": status} for condition, status in given.items()],
    }
    return found


def widget_crd(
    plural: str = "widgets", kind: str = "Widget", *, group: str = "example.com", served: Sequence[str] = ("v1",), **spec: Any
) -> dict[str, Any]:
    """Return a CRD with equal versions, which have a schema, subresources and printer columns; the first is stored."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer"},
                    "size": {"type": "string", "default": "m"},
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        },
    }
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    columns = [
        {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
    ]
    only = version("v1", storage=True, schema=schema, subresources={"status": {}, "scale": scale}, additionalPrinterColumns=columns)
    return crd(plural, *versions_like(*served)(only), kind=kind, group=group, **spec)


def widget(
    name: str = "a", *, group: str = "example.com", version: str = "v1", metadata: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """Return a Widget as a client creates it; `metadata` adds to its metadata."""
    return {"apiVersion": f"{group}/{version}", "kind": "Widget", "metadata": {"name": name} | (metadata or {}), "spec": spec}


def widgets_path(group: str = "example.com", namespace: str = "default") -> str:
    """Return the path of the widgets of a namespace."""
    return f"/apis/{group}/v1/namespaces/{namespace}/widgets"


def definition(crd_object: dict[str, Any], *, revision: int = 1) -> Definition:
    """Return the server's definition for a client's CRD."""
    return parsed(canonical(crd_object), revision=revision)


def parsed(crd_object: dict[str, Any], *, revision: int = 1) -> Definition:
    """Return the definition of a stored CRD."""
    name = crd_object["metadata"]["name"]
    return Definition.from_item(Item(key=name, revision=revision, data=json_codec.dumps(crd_object), labels={}, fields={}))


def catalog(*crd_objects: dict[str, Any]) -> Catalog:
    """Return a catalog of these CRDs."""
    held = Catalog()
    for crd_object in crd_objects:
        held.put(definition(crd_object))
    return held
