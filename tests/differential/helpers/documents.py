"""Definitions that cover the features of discovery and OpenAPI, and functions that read the documents of both servers."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import yaml

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.waiting import until
from tests.support.builders.crds import crd
from tests.support.clients.published import every_feature

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_LOOSE: Final = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
_TYPED: Final = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
_PATIENCE: Final = 60.0


def _version(name: str, *, storage: bool = False, served: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": served, "storage": storage, "schema": _LOOSE, **more}


def _definition(group: str, plural: str, kind: str, versions: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return crd(plural, *versions, group=group, **{"scope": "Cluster", "names": {"plural": plural, "kind": kind}} | more)


def definitions(group: str) -> list[dict[str, Any]]:
    """Return several definitions of one group."""
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
    """Return a document, parsed from JSON or YAML.

    Raises:
        AssertionError: The response is not 200.
    """
    response, data = side.raw(Step("GET", path, headers={"Accept": accept} if accept else {}))
    if response.status != 200:
        raise AssertionError(f"{path} is answered with {response.status}: {data[:300]!r}")
    return yaml.safe_load(data) if "yaml" in (response.headers["Content-Type"] or "") else json.loads(data)


def equal_eventually(pair: Pair, take: Callable[[Side], Any]) -> tuple[Any, Any]:
    """Return what `take` reads from both sides, as soon as it is equal or after `_PATIENCE` seconds: controllers update the documents."""
    theirs, ours = take(pair.reference), take(pair.ours)

    def equal() -> bool:
        nonlocal theirs, ours
        theirs, ours = take(pair.reference), take(pair.ours)
        return bool(theirs == ours)

    if theirs != ours:
        with suppress(AssertionError):
            until(equal, patience=_PATIENCE)
    pair.compared += 1
    return theirs, ours


def assert_equal_eventually(pair: Pair, take: Callable[[Side], Any], about: object = "") -> None:
    """Fail with what `take` reads from both sides unless it becomes equal."""
    theirs, ours = equal_eventually(pair, take)
    if theirs != ours:
        raise AssertionError(f"{about}\n  theirs: {theirs}\n  ours: {ours}")


def differing(pair: Pair, takes: Mapping[str, Callable[[Side], Any]]) -> dict[str, tuple[Any, Any]]:
    """Return by name what each function reads from both sides where that does not become equal."""
    found = {name: equal_eventually(pair, take) for name, take in takes.items()}
    return {name: (theirs, ours) for name, (theirs, ours) in found.items() if theirs != ours}


def until_both(pair: Pair, done: Callable[[Side], bool]) -> None:
    """Return when a condition holds for both sides.

    Raises:
        AssertionError: It does not hold for a side after `_PATIENCE` seconds.
    """
    for side in (pair.reference, pair.ours):
        until(lambda side=side: done(side), f"the condition of {side.url}", patience=_PATIENCE)  # type: ignore[misc]


def by_name(resources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort resources by name: the reference lists those of several definitions in the order of a Go map."""
    return sorted(resources, key=lambda one: str(one["name"]))
