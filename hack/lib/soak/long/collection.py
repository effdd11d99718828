"""The definition of the long run, in two versions, and its objects."""

from typing import Any, Final, NamedTuple

from hack.lib import definitions

GROUP: Final = "long.soak.apiext.dev"
PLURAL: Final = "registers"
NAME: Final = f"{PLURAL}.{GROUP}"
KIND: Final = "Register"
VERSIONS: Final = ("v1", "v2")
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION: Final = f"{CRDS}/{NAME}"
MOVING: Final = "r-"
"""Prefix of the names of the objects that clients write; all others stay as they are."""
_NUMBER: Final = {"type": "integer"}


class State(NamedTuple):
    """What is compared of an object: the values of spec and status; 0 is a missing status."""

    value: int
    status: int


def definition(*, storage: str = "v1", columns: int = 0) -> dict[str, Any]:
    """Return the definition with a storage version, and so many printer columns."""
    return definitions.definition(GROUP, PLURAL, KIND, *(_version(name, stored=name == storage, columns=columns) for name in VERSIONS))


def collection(version: str) -> str:
    """Return the path of the objects at a version."""
    return f"/apis/{GROUP}/{version}/namespaces/default/{PLURAL}"


def register(version: str, name: str, value: int) -> dict[str, Any]:
    """Return an object."""
    return {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "metadata": {"name": name}, "spec": {"value": value}}


def state(obj: dict[str, Any]) -> State:
    """Return the compared state of an object."""
    return State(obj["spec"]["value"], obj.get("status", {}).get("value", 0))


def _version(name: str, *, stored: bool, columns: int) -> dict[str, Any]:
    part = {"type": "object", "properties": {"value": _NUMBER, "padding": {"type": "string"}}}
    rule = {"rule": "self.value >= 0", "message": "values are not negative"}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": part | {"x-kubernetes-validations": [rule]}, "status": part}}
    printed = [{"name": f"Value{number}", "type": "integer", "jsonPath": ".spec.value"} for number in range(columns)]
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": printed,
    }
