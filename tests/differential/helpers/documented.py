"""Definitions that differ in all that discovery and OpenAPI tell, and documents of both servers about them."""

import copy
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import yaml

from tests.differential.helpers.pair import Pair, Side, Step
from tests.support.clients.published import every_feature

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_LOOSE: Final = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
_TYPED: Final = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
_PATIENCE: Final = 20.0


def _version(name: str, *, storage: bool = False, served: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": served, "storage": storage, "schema": _LOOSE, **more}


def _definition(group: str, plural: str, kind: str, versions: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    spec = {"group": group, "scope": "Cluster", "names": {"plural": plural, "kind": kind}, "versions": versions} | more
    metadata = {"name": f"{plural}.{group}"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}


def definitions(group: str) -> list[dict[str, Any]]:
    """Several definitions of one group."""
    rich = copy.deepcopy(every_feature())
    rich["spec"] |= {"group": group}
    rich["metadata"]["name"] = f"everythings.{group}"
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetCollection", "shortNames": ["gd", "gdt"]}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}
    columns = [{"name": "N", "type": "number", "jsonPath": ".spec.n", "priority": 1, "description": "how many"}]
    gadgets = [
        _version("v1", storage=True, subresources={"status": {}, "scale": scale}, additionalPrinterColumns=columns),
        _version("v1beta1", schema=_TYPED, subresources={"status": {}}, deprecated=True, deprecationWarning="use <v1>"),
        _version("v2alpha1", schema={"openAPIV3Schema": {"type": "object"}}),
        _version("v10", served=False),
        _version("v11"),
        _version("foo"),
        _version("v12alpha10"),
    ]
    return [
        rich,
        _definition(group, "gadgets", "Gadget", gadgets, names=names | {"categories": ["all", "mine"]}, scope="Namespaced"),
        _definition(group, "hidden", "Hidden", [_version("v3", storage=True, served=False), _version("v3beta2", schema=_TYPED)]),
    ]


def parsed(side: Side, path: str, accept: str = "") -> Any:
    """A document, which must be there; JSON or YAML."""
    response, data = side.raw(Step("GET", path, headers={"Accept": accept} if accept else {}))
    if response.status != 200:
        raise AssertionError(f"{path} is answered with {response.status}: {data[:300]!r}")
    return yaml.safe_load(data) if "yaml" in (response.headers["Content-Type"] or "") else json.loads(data)


def equal_in_the_end(pair: Pair, take: Callable[[Side], Any]) -> tuple[Any, Any]:
    """What both sides give, asked for until it is equal, within a bound: controllers are at work behind the documents."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        theirs, ours = take(pair.reference), take(pair.ours)
        if theirs == ours or time.monotonic() > deadline:
            pair.compared += 1
            return theirs, ours


def in_the_end(pair: Pair, done: Callable[[Side], bool]) -> None:
    """Wait until something holds on both sides."""
    for side in (pair.reference, pair.ours):
        deadline = time.monotonic() + _PATIENCE
        while not done(side):
            if time.monotonic() > deadline:
                raise AssertionError(f"it does not come about at {side.url}")


def by_name(resources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Resources in the order of their names: the reference lists those of several definitions as they come out of a Go map."""
    return sorted(resources, key=lambda one: str(one["name"]))
