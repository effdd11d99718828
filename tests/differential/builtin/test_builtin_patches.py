"""Strategic merge patches and server-side apply of built-in kinds against the reference, with generated patches."""

import http.client
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.builtin_objects import BuiltinObject, builtin_differences, builtin_objects, remove

pytestmark = pytest.mark.slow

_STRATEGIC: Final = {"Content-Type": "application/strategic-merge-patch+json"}
_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_OBJECTS: Final = {(one.resource.plural, one.name): one for one in builtin_objects()}
_DEPLOYMENT: Final = _OBJECTS["deployments", "web"]
_PATCHES: Final = 80
_APPLIES: Final = 60


# --- strategic merge patches ----------------------------------------------------------------------------------------


def _environment(rng: random.Random) -> list[Any]:
    entries: list[Any] = [{"name": name, "value": str(rng.randrange(3))} for name in rng.sample("ABCD", rng.randrange(1, 4))]
    if rng.random() < 0.3:
        entries.append({"name": rng.choice("ABCDE"), "$patch": "delete"})
    if rng.random() < 0.1:
        entries.append({"$patch": "replace"})
    if rng.random() < 0.05:
        entries.append({"value": "without a key"})
    if rng.random() < 0.1:
        entries.append({"name": "F", "value": None, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
    return entries


def _container(rng: random.Random) -> dict[str, Any]:
    changes: dict[str, Any] = {"name": rng.choice(("c", "c", "side"))}
    changes["image"] = f"i:{rng.randrange(9)}"
    if rng.random() < 0.6:
        changes["env"] = _environment(rng)
    if rng.random() < 0.3 and "env" in changes:
        changes["$setElementOrder/env"] = [{"name": name} for name in rng.sample("ABCDF", 5)]
    if rng.random() < 0.4:
        changes["ports"] = [{"containerPort": port, "name": f"p{port}"} for port in rng.sample((80, 81, 82), 2)]
    if rng.random() < 0.2:
        changes["ports"] = [{"containerPort": 80, "$patch": "delete"}]
    if rng.random() < 0.3:
        changes["command"] = rng.choice((["a"], ["b", "c"], None, []))
    if rng.random() < 0.2:
        changes["resources"] = rng.choice(({"$patch": "replace", "limits": {"cpu": "1"}}, {"limits": {"memory": "1Gi", "cpu": None}}, None))
    return changes


def _volumes(rng: random.Random) -> list[Any]:
    sources: tuple[dict[str, Any], ...] = ({"emptyDir": {}}, {"configMap": {"name": "x"}}, {"secret": {"secretName": "s"}})
    found: list[Any] = []
    for name in rng.sample(("v", "w"), rng.randrange(1, 3)):
        source = rng.choice(sources)
        found.append({"name": name, **source, "$retainKeys": ["name", *source]} if rng.random() < 0.8 else {"name": name, **source})
    return found


def _patch(rng: random.Random) -> dict[str, Any]:
    pod: dict[str, Any] = {}
    spec: dict[str, Any] = {"template": {"spec": pod}}
    if rng.random() < 0.8:
        pod["containers"] = [_container(rng)]
        if rng.random() < 0.3:
            pod["$setElementOrder/containers"] = [{"name": name} for name in rng.sample(("c", "side"), 2)]
    if rng.random() < 0.3:
        pod["volumes"] = _volumes(rng)
    if rng.random() < 0.2:
        pod["nodeSelector"] = rng.choice(({"a": "b"}, {"a": None}, {"$patch": "replace", "c": "d"}, {"$patch": "delete"}, None))
    if rng.random() < 0.2:
        pod["tolerations"] = [{"key": rng.choice("ab"), "operator": "Exists"}]
    if rng.random() < 0.2:
        pod["imagePullSecrets"] = [{"name": rng.choice("ab")}]
    if rng.random() < 0.2:
        spec["strategy"] = rng.choice(
            (
                {"type": "Recreate", "$retainKeys": ["type"]},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3}},
                {"rollingUpdate": None, "type": "Recreate"},
                {"$retainKeys": ["type"], "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            )
        )
    patch: dict[str, Any] = {"spec": spec}
    if rng.random() < 0.2:
        patch["metadata"] = rng.choice(
            (
                {"finalizers": ["example.com/a"]},
                {"$deleteFromPrimitiveList/finalizers": ["example.com/a"], "$setElementOrder/finalizers": []},
                {"labels": {"a": "b", "app": None}},
                {"annotations": None},
            )
        )
    if rng.random() < 0.05:
        patch["spec"]["$patch"] = rng.choice(("merge", "unknown"))
    return patch


@pytest.mark.parametrize("seed", range(3))
def test_strategic_merge(builtin_pair: Pair, seed: int) -> None:
    """Patch a Deployment with generated patches, one after the other."""
    rng = random.Random(seed)  # noqa: S311 -- repeatable tests
    found: list[str] = []
    try:
        found += builtin_differences(builtin_pair, Step("POST", _DEPLOYMENT.collection, _DEPLOYMENT.obj))
        for _ in range(_PATCHES):
            found += _compared(builtin_pair, Step("PATCH", f"{_DEPLOYMENT.path}?fieldManager=m", _patch(rng), _STRATEGIC))
    finally:
        _free(builtin_pair, _DEPLOYMENT)

    assert not found, "\n".join(found[:20])


_SERVICE_PATCHES: Final[tuple[Any, ...]] = (
    {"spec": {"ports": [{"port": 80, "targetPort": 8080}]}},
    {"spec": {"ports": [{"port": 81, "name": "new"}], "$setElementOrder/ports": [{"port": 81}, {"port": 53}, {"port": 80}]}},
    {"spec": {"ports": [{"port": 53, "$patch": "delete"}]}},
    {"spec": {"ports": [{"$patch": "replace"}, {"name": "only", "port": 99}]}},
    {"spec": {"selector": {"app": None, "b": "c"}}},
    {"spec": {"selector": {"$patch": "replace", "d": "e"}}},
    {"status": {"conditions": [{"type": "x"}]}},
    {"metadata": {"ownerReferences": [{"uid": "u", "apiVersion": "v1", "kind": "Pod", "name": "p"}]}},
    {"metadata": {"ownerReferences": [{"uid": "u", "$patch": "delete"}]}},
    {"spec": None},
    [],
    {"spec": {"ports": {"port": 1}}},
)


def test_strategic_merge_of_services(builtin_pair: Pair) -> None:
    """Patch the ports and labels of a Service."""
    service = _OBJECTS["services", "headless"]
    found = []
    try:
        found += builtin_differences(builtin_pair, Step("POST", service.collection, service.obj))
        for patch in _SERVICE_PATCHES:
            found += _compared(builtin_pair, Step("PATCH", f"{service.path}?fieldManager=m", patch, _STRATEGIC))
    finally:
        remove(builtin_pair, service)

    assert not found, "\n".join(found)


# --- server-side apply ----------------------------------------------------------------------------------------------


def _applied(rng: random.Random) -> dict[str, Any]:
    container: dict[str, Any] = {"name": rng.choice(("c", "c", "side"))}
    if rng.random() < 0.7 or container["name"] == "side":
        container["image"] = f"i:{rng.randrange(3)}"
    if rng.random() < 0.5:
        container["env"] = [{"name": name, "value": str(rng.randrange(2))} for name in rng.sample("ABC", rng.randrange(3))]
    if rng.random() < 0.4:
        container["ports"] = [{"containerPort": port, **rng.choice(({}, {"protocol": "UDP"}))} for port in rng.sample((80, 81), 1)]
    if rng.random() < 0.2:
        container["resources"] = {"limits": {"cpu": rng.choice(("1", "1000m", 1))}}
    pod: dict[str, Any] = {"containers": [container]}
    if rng.random() < 0.2:
        pod["nodeSelector"] = {rng.choice("ab"): "x"}
    if rng.random() < 0.2:
        pod["tolerations"] = [{"key": "k", "operator": "Exists"}]
    if rng.random() < 0.2:
        pod["volumes"] = [{"name": "v", **rng.choice(({"emptyDir": {}}, {"configMap": {"name": "x"}}))}]
    spec: dict[str, Any] = {"template": {"spec": pod}}
    if rng.random() < 0.3:
        spec["replicas"] = rng.randrange(3)
    if rng.random() < 0.1:
        spec["unknown"] = 1
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": _DEPLOYMENT.name}, "spec": spec}


def _applies(rng: random.Random) -> Iterator[Step]:
    for _ in range(_APPLIES):
        query = f"fieldManager={rng.choice('abc')}{'&force=true' if rng.random() < 0.4 else ''}"
        yield Step("PATCH", f"{_DEPLOYMENT.path}?{query}", _applied(rng), _APPLY)


@pytest.mark.parametrize("seed", range(3))
def test_apply(builtin_pair: Pair, seed: int) -> None:
    """Apply a Deployment as several managers, with conflicts and force."""
    found: list[str] = []
    try:
        found += builtin_differences(builtin_pair, Step("POST", _DEPLOYMENT.collection, _DEPLOYMENT.obj))
        for step in _applies(random.Random(seed)):  # noqa: S311 -- repeatable tests
            found += _compared(builtin_pair, step)
    finally:
        remove(builtin_pair, _DEPLOYMENT)

    assert not found, "\n".join(found[:20])


def _compared(pair: Pair, step: Step) -> list[str]:
    """Return the differences of a step, none if the reference rejects the content of its result."""
    response, data = pair.reference.raw(replace(step, path=f"{step.path}&dryRun=All"))
    is_validated = response.status == http.client.UNPROCESSABLE_ENTITY and b'"reason":"Invalid"' in data
    return [] if is_validated else builtin_differences(pair, step)


def _free(pair: Pair, one: BuiltinObject) -> None:
    """Delete an object with finalizers on both servers."""
    remove(pair, one)
    for side in (pair.reference, pair.ours):
        side.raw(Step("PATCH", one.path, {"metadata": {"finalizers": None}}, {"Content-Type": "application/merge-patch+json"}))
