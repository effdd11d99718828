"""Tests of StorageVersionMigrations beside a reference with its controllers."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step, wait_for_code
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import APPLY, JSON_PATCH, MERGE, STRATEGIC, current, operations
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import CRDS

pytestmark = pytest.mark.slow

GROUP: Final = "migrations.example.com"
BASE: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
DRY: Final = "?dryRun=All"
NONE: Final = f"{BASE}/none"
"""A migration of a resource that does not exist: it runs without a revision for a minute."""
SIZED: Final[dict[str, Any]] = {"type": "object", "properties": {"size": {"type": "integer"}, "name": {"type": "string"}}}
_PATIENCE: Final = 120.0
"""Seconds; the garbage collector of the reference looks for new resources every 30 s."""


@pytest.fixture(scope="module")
def migrating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both servers, and the reference's controllers."""
    plane = ControlPlane(tmp_path_factory.mktemp("migrating"), controller_manager=True, durable=False)
    with plane, BareServer(tmp_path_factory.mktemp("apiext-migrating")) as server:
        pair = Pair(plane, server)
        yield pair
        pair.close()


def _migration(name: str, resource: str = "nothings", group: str = GROUP, /, metadata: Any = None, **members: Any) -> dict[str, Any]:
    head = {"apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration", "metadata": {"name": name} | (metadata or {})}
    return head | {"spec": {"resource": {"group": group, "resource": resource}}} | members


def _condition(name: str, status: str = "True", **members: Any) -> dict[str, Any]:
    return {"type": name, "status": status, "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "R", "message": "m"} | members


def _widgets(plural: str, storage: str = "v1", schema: dict[str, Any] = SIZED) -> dict[str, Any]:
    versions = [version(name, storage=name == storage, schema=schema) for name in ("v1", "v2")]
    return crd(plural, *versions, kind=plural.capitalize()[:-1], group=GROUP)


# --- the API --------------------------------------------------------------------------------------------------------

BODIES: Final[tuple[Any, ...]] = (
    *(_migration(name) for name in ("", "A", "a.b", "a_b", "x" * 254, "a/b")),
    *(_migration("a", resource) for resource in ("", "a.b", "A", "a/status", "x" * 64, "1a")),
    *(_migration("a", "b", group) for group in ("", "A.B", "x" * 254, "a..b")),
    _migration("a", "A", "A_B"),
    _migration("a", spec={}),
    _migration("a", spec=None),
    _migration("a", spec=1),
    _migration("a", spec={"resource": {"group": 1}}),
    _migration("a", spec={"resource": "x"}),
    _migration("a", spec={"resource": {"resource": "x", "version": "v1"}}),
    _migration("a", spec={"resource": {"resource": "x"}, "continueToken": "x"}),
    _migration("a", status={"resourceVersion": "x", "conditions": [{"type": "Running", "status": "True"}]}),
    _migration("a", status={"conditions": {}}),
    _migration("a", status={"conditions": [{"lastTransitionTime": "x"}]}),
    _migration("a", status={"conditions": [{"observedGeneration": "x"}]}),
    _migration("a", metadata={"labels": {"A B": ""}, "generation": 4}),
    _migration("a", metadata={"generateName": "x-", "name": None}),
    _migration("a") | {"apiVersion": "storagemigration.k8s.io/v1beta1"},
    _migration("a") | {"apiVersion": "storagemigration.k8s.io/v1alpha1"},
    _migration("a") | {"apiVersion": "v1"},
    _migration("a") | {"kind": "Other"},
    {"metadata": {"name": "a"}, "spec": {"resource": {"resource": "b"}}},
    {},
)
CONDITIONS: Final[tuple[Any, ...]] = (
    [],
    [_condition("")],
    [_condition("a b")],
    [_condition("a/b"), _condition("a/b")],
    [_condition("Running", "Yes")],
    [_condition("Running", "")],
    [_condition("Running", reason="")],
    [_condition("Running", reason="1")],
    [_condition("Running", reason="x" * 1025)],
    [_condition("Running", message="x" * 32769)],
    [_condition("Running", observedGeneration=-1)],
    [_condition("Running", lastTransitionTime=None)],
    [_condition("Running", lastTransitionTime="x")],
    [_condition("Running", "Unknown")],
    [_condition("Succeeded"), _condition("Failed")],
    [_condition("Succeeded", "False"), _condition("Failed")],
    [{}],
    1,
)


def _creates() -> list[Step]:
    status = f"{NONE}/status"
    return [
        *(Step("POST", BASE + DRY, body) for body in BODIES),
        *(Step("POST", f"{BASE}{DRY}&fieldValidation=Strict", body) for body in BODIES[17:25]),
        Step("POST", BASE, _migration("none", metadata={"labels": {"a": "b"}}, status={"resourceVersion": "5"})),
        Step("POST", BASE, _migration("none")),
        Step("GET", NONE, retry=True, until="MigrationRunning"),
        *(Step("GET", path, headers=TABLE) for path in (BASE, NONE, status)),
        *(
            Step("GET", f"{BASE}?fieldSelector={selector}")
            for selector in ("metadata.name%3Dnone", "spec.resource%3Dx", "metadata.name%3Dx")
        ),
    ]


def _updates() -> list[Step]:
    status = f"{NONE}/status"
    return [
        Step("PUT", NONE, _migration("none")),
        Step("PUT", NONE + DRY, _migration("none", metadata=current(NONE) | {"labels": {"c": "d"}}, status={})),
        Step("PUT", NONE + DRY, _migration("none", "others", metadata=current(NONE))),
        Step("PUT", NONE + DRY, _migration("none", "", metadata=current(NONE))),
        Step("PUT", NONE, _migration("none", metadata={"resourceVersion": "1"})),
        Step("PUT", NONE, _migration("none", metadata={"uid": "x"})),
        Step("PUT", f"{BASE}/new", _migration("new")),
        *(Step("PATCH", NONE + DRY, {"spec": {"resource": {"resource": "x"}}}, kind) for kind in (MERGE, STRATEGIC)),
        *(Step("PATCH", NONE + DRY, {"status": {"resourceVersion": "7"}}, kind) for kind in (MERGE, STRATEGIC)),
        Step("PATCH", NONE + DRY, operations(("add", "/metadata/labels/x", "y"), ("test", "/spec/resource/group", GROUP)), JSON_PATCH),
        Step("PATCH", NONE + DRY, {"metadata": {"finalizers": ["a.b/c"], "annotations": {"A B": ""}}}, MERGE),
        *(Step("PATCH", status + DRY, {"status": {"conditions": one}}, MERGE) for one in CONDITIONS),
        # the reference words type errors of strategic merge patches differently
        *(Step("PATCH", status + DRY, {"status": {"conditions": one}}, STRATEGIC) for one in CONDITIONS[:-1]),
        *(
            Step("PATCH", status + DRY, {"status": {"resourceVersion": one}}, MERGE)
            for one in ("", "0", "05", "-1", "x", "9" * 40, 5, None)
        ),
        Step("PATCH", status + DRY, {"metadata": {"labels": {"x": "y"}, "annotations": {"x": "y"}, "finalizers": ["a.b/c"]}}, MERGE),
        Step("PATCH", status + DRY, {"spec": {"resource": {"resource": "x"}}, "status": {"other": 1}}, MERGE),
        Step("PUT", status + DRY, _migration("none", metadata=current(NONE), status={"conditions": [_condition("Running")]})),
        Step("PUT", status + DRY, _migration("none", status={})),
        *(
            Step("PATCH", f"{NONE}{tail}{DRY}&fieldManager=x{more}", json.dumps(body).encode(), APPLY)
            for tail in ("", "/status")
            for more in ("", "&force=true")
            for body in (
                _migration("none", metadata={"labels": {"a": "c"}}),
                _migration("none", status={"conditions": [_condition("Running"), _condition("Other")]}),
                _migration("none", "others"),
            )
        ),
        Step("GET", NONE),
        *(Step(method, f"{NONE}/{tail}") for method in ("GET", "PUT") for tail in ("scale", "other")),
        Step("DELETE", f"{NONE}{DRY}"),
        Step("DELETE", NONE),
        Step("DELETE", BASE),
        Step("GET", BASE),
        *(Step("GET", f"/apis/storagemigration.k8s.io/{name}/storageversionmigrations") for name in ("v1beta1", "v1alpha1")),
    ]


def test_api(migrating: Pair) -> None:
    """Return equal responses to every verb, with valid and invalid objects and states."""
    compared(migrating, [*_creates(), *_updates()])


# --- migrations -----------------------------------------------------------------------------------------------------


def _ends(pair: Pair, name: str) -> None:
    """Return when both servers have finished a migration."""

    def has_ended(side: Side) -> bool:
        found = json.loads(side.raw(Step("GET", f"{BASE}/{name}"))[1])["status"].get("conditions", ())
        return any(one["reason"] == "MigrationCompleted" for one in found)

    for side in (pair.reference, pair.ours):
        until(lambda side=side: has_ended(side), f"the end of {name} on {side.url}", patience=_PATIENCE)  # type: ignore[misc]


def _run(pair: Pair, plural: str, schema: dict[str, Any], *names: str) -> list[Step]:
    """Store objects in v1, flip the storage version and change the schema, migrate; return the requests to compare."""
    objects = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
    kind = _widgets(plural)["spec"]["names"]["kind"]
    steps = [
        *(Step("POST", objects, {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "size": 1}) for name in names),
        Step("PATCH", f"{CRDS}/{plural}.{GROUP}", {"spec": _widgets(plural, "v2", schema)["spec"]}, MERGE),
        Step("GET", f"{CRDS}/{plural}.{GROUP}", retry=True),
    ]
    compared(pair, steps)
    before = [_revisions(side, objects) for side in (pair.reference, pair.ours)]
    compared(pair, [Step("POST", BASE, _migration(plural, plural))])
    _ends(pair, plural)
    rewritten = [
        {name: before[name] != after[name] for name in before}
        for before, side in zip(before, (pair.reference, pair.ours), strict=True)
        for after in (_revisions(side, objects),)
    ]
    assert rewritten[0] == rewritten[1]
    return [
        Step("GET", f"{BASE}/{plural}"),
        Step("GET", f"{BASE}/{plural}", headers=TABLE),
        Step("GET", f"{objects}/a"),
        Step("GET", f"{objects.replace('/v1/', '/v2/')}/a"),
        Step("PATCH", f"{BASE}/{plural}/status", {"status": {"resourceVersion": "5"}}, MERGE),
        Step("PATCH", f"{BASE}/{plural}/status", {"status": {"conditions": None}}, MERGE),
        Step("PATCH", f"{BASE}/{plural}/status", {"status": {"conditions": [_condition("Failed"), _condition("Succeeded")]}}, MERGE),
    ]


def _revisions(side: Side, path: str) -> dict[str, str]:
    wait_for_code(side, Step("GET", path), http.client.OK)
    items = json.loads(side.raw(Step("GET", path))[1])["items"]
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}


def test_success(migrating: Pair) -> None:
    """Rewrite the same objects, with equal states of migration and definition.

    While a second migration runs, the reference drops the stored versions that it applied after the first one.
    """
    path = f"{CRDS}/gears.{GROUP}"
    with migrating.served(_widgets("gears")):
        steps = _run(migrating, "gears", SIZED, "a", "b", "c")
        compared(migrating, [*steps, Step("GET", path, retry=True, until="MigrationSucceeded")])

        compared(migrating, [Step("PATCH", path, {"spec": _widgets("gears")["spec"]}, MERGE)])
        since = Step("GET", f"{CRDS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dgears.{GROUP}&resourceVersion={{rv:{path}}}")
        watches = [side.resolved(since) for side in (migrating.reference, migrating.ours)]
        compared(migrating, [Step("POST", BASE, _migration("again", "gears"))])
        _ends(migrating, "again")
        compared(migrating, [Step("GET", path, retry=True, until="MigrationSucceeded")])
        seen = [_stored_versions(side, watch) for side, watch in zip((migrating.reference, migrating.ours), watches, strict=True)]

    assert seen == [[["v1"], ["v1"]], [["v2", "v1"], ["v1"]]]


def _stored_versions(side: Side, watch: Step) -> list[list[str]]:
    events = map(json.loads, side.raw(watch)[1].splitlines())
    return [event["object"]["status"]["storedVersions"] for event in events]


def test_failure(migrating: Pair) -> None:
    """Fail with the same text. Only the reference then removes the version in which objects are left."""
    with migrating.served(_widgets("knobs")):
        steps = _run(migrating, "knobs", SIZED | {"required": ["name"]}, "a")
        compared(migrating, steps)
        stored = [
            json.loads(side.raw(Step("GET", f"{CRDS}/knobs.{GROUP}"))[1])["status"]["storedVersions"]
            for side in (migrating.reference, migrating.ours)
        ]

    assert stored == [["v2"], ["v1", "v2"]]
