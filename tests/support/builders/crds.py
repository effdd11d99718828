"""CustomResourceDefinitions for tests: small ones made here, and a folder of real ones beside the checkout."""

import json
from pathlib import Path
from typing import Any, Final

from apiext.definitions.catalog import Catalog
from apiext.definitions.codec import canonical
from apiext.definitions.definition import Definition

REAL: Final = Path(__file__).resolve().parents[4] / "shared" / "crds"
NO_REAL: Final = "the folder of real CRDs is not there"


def crd(
    plural: str = "widgets",
    *,
    group: str = "example.com",
    kind: str = "Widget",
    scope: str = "Namespaced",
    versions: list[dict[str, Any]] | None = None,
    names: dict[str, Any] | None = None,
    conditions: dict[str, str] | None = None,
    generation: int = 1,
) -> dict[str, Any]:
    """A definition as a server stores it: established, with its names accepted."""
    all_names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List", **(names or {})}
    given = {"Established": "True", "NamesAccepted": "True", **(conditions or {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "uid": f"uid-of-{plural}", "generation": generation},
        "spec": {
            "group": group,
            "scope": scope,
            "names": all_names,
            "conversion": {"strategy": "None"},
            "versions": versions or [version("v1", storage=True)],
        },
        "status": {
            "acceptedNames": all_names,
            "storedVersions": [],
            "conditions": [{"type": condition, "status": status} for condition, status in given.items()],
        },
    }


def version(name: str, *, storage: bool = False, schema: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A served version of a definition."""
    schema = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def definition(crd_object: dict[str, Any], *, revision: int = 1) -> Definition:
    """A definition as the rooms of the server read it."""
    return Definition.from_object(canonical(crd_object), revision=revision)


def catalog(*crd_objects: dict[str, Any]) -> Catalog:
    """A catalog that holds these."""
    held = Catalog()
    for crd_object in crd_objects:
        held.put(definition(crd_object))
    return held


def real_crds(*folders: str) -> list[dict[str, Any]]:
    """The real definitions of some folders, or of all; those that are only a part of one are left out."""
    return [one for one in _published(*folders) if "versions" in one.get("spec", {})]


def fragments() -> list[dict[str, Any]]:
    """What lies among the real definitions and is only a part of one."""
    return [one for one in _published() if "versions" not in one.get("spec", {})]


def _published(*folders: str) -> list[dict[str, Any]]:
    paths = [path for path in sorted(REAL.glob("*/*.json")) if not folders or path.parent.name in folders]
    return [json.loads(path.read_text()) for path in paths]
