"""Tests of status and scale, generations, preconditions and dry runs."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import (
    DOMAIN,
    JSON_PATCH,
    MERGE,
    PLAINS,
    SCALE,
    THINGS,
    YAML,
    crd,
    crds,
    current,
    operations,
    plain,
    scale,
    thing,
)

pytestmark = pytest.mark.slow

LOOSE: Final = f"/apis/{DOMAIN}/v1/namespaces/default/looses"
UNSCALED: Final = LOOSE.replace("/v1/", "/v2/")
"""Values in a Loose that its Scale cannot show."""
PARTIAL: Final = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
ACCEPTS: Final[tuple[dict[str, str], ...]] = (
    {},
    TABLE,
    PARTIAL,
    {"Accept": "application/yaml"},
    {"Accept": "application/vnd.kubernetes.protobuf"},
    {"Accept": "application/cbor"},
    {"Accept": "text/html"},
)
REPLICAS: Final[tuple[Any, ...]] = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63, 1.5, 2.0, "3", None, True, [], {})

UNSPELLED: Final = (2**63, 2.0)
"""Numbers that errors about patches show in another notation than they were sent."""


SCALE_OPERATIONS: Final = (
    operations(("replace", "/spec/replicas", 2)),
    operations(("test", "/spec/replicas", 2), ("add", "/spec/replicas", 3)),
    operations(("test", "/spec/replicas", 2)),
    operations(("remove", "/spec/replicas")),
    operations(("remove", "/spec")),
    operations(("replace", "/metadata/name", "q")),
    operations(("replace", "/metadata/resourceVersion", "1")),
    operations(("replace", "/kind", "Thing")),
    operations(("replace", "/apiVersion", "v1")),
    operations(("remove", "/status"), ("add", "/spec/replicas", 5)),
    operations(("add", "/status/selector", "x")),
    operations(("replace", "", {})),
    operations(("replace", "/spec/replicas", "5")),
)
SCALE_MERGES: Final[tuple[Any, ...]] = (
    {"spec": {"replicas": None}},
    {"spec": None},
    {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 1}},
    {"metadata": {"resourceVersion": f"{{rv:{THINGS}/p}}"}, "spec": {"replicas": 6}},
    {"metadata": {"resourceVersion": None}, "spec": {"replicas": 7}},
    {"metadata": {"uid": "x"}, "spec": {"replicas": 1}},
    {"metadata": {"name": "q"}},
    {"metadata": {"name": None}},
    {"metadata": {"namespace": "other"}},
    {"kind": "Thing"},
    {"apiVersion": "autoscaling/v2"},
    {"kind": None, "apiVersion": None, "spec": {"replicas": 8}},
    {"status": {"replicas": 5, "selector": "a=b"}},
    {"status": {"replicas": "x"}},
    {"metadata": None},
    [],
    None,
    b"{",
)


def definitions() -> list[dict[str, Any]]:
    """Return the definitions of all write tests, and Loose: any spec and status, with one version without scale."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}
    scaled = {"name": "v1", "schema": schema, "subresources": {"scale": SCALE | {"specReplicasPath": ".spec.deep.er.replicas"}}}
    both = {"name": "v3", "schema": schema, "subresources": {"status": {}, "scale": {key: SCALE[key] for key in list(SCALE)[:2]}}}
    return [*crds(), crd("Loose", [scaled, {"name": "v2", "schema": schema}, both])]


def loose(name: str, version: str = "v2", **members: Any) -> dict[str, Any]:
    """Return a Loose."""
    return thing(name, None, version, **members) | {"kind": "Loose"}


def _changing(name: str, base: str, make: Any) -> list[Step]:
    """Return writes that change the generation, and writes that change nothing."""
    path = f"{base}/{name}"

    def put(tail: str = "", query: str = "", **members: Any) -> Step:
        return Step("PUT", path + tail + query, make(name, current(path), **members))

    return [
        Step("POST", base, make(name, {"generation": 5}, spec={"size": 1}, status={"phase": "new"}, extra="x")),
        put(spec={"size": 1}, status={"phase": "new"}, extra="x"),
        put(spec={"size": 2}, status={"phase": "other"}, extra="x"),
        put(spec={"size": 2}, status={"phase": "other"}, extra="y"),
        put(spec={"size": 2, "unknown": 1}, extra="y"),
        put(spec={"size": 2, "chosen": "first"}, extra="y"),
        put(query="?dryRun=All", spec={"size": 3}),
        Step("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE),
        Step("PATCH", path, {"metadata": {"labels": {"a": "b"}, "generation": 9}}, MERGE),
        Step("PATCH", path, {"status": {"phase": "patched"}}, MERGE),
        Step("PATCH", path, {"status": None, "extra": None}, MERGE),
        Step("PATCH", path, {}, MERGE),
        put("/status", spec={"size": 7}, status={"phase": "set"}),
        put("/status", status={"phase": "set"}),
        put("/status", spec={"size": 7}),
        put("/status"),
        Step("PATCH", f"{path}/status", {"status": {"phase": "p", "replicas": 2, "unknown": 1}, "spec": {"size": 9}}, MERGE),
        Step("PATCH", f"{path}/status", {"status": {"phase": "p", "replicas": 2}}, MERGE),
        Step("PATCH", f"{path}/status", {"status": {"phase": 1, "replicas": "x"}, "spec": {"size": "bad"}}, MERGE),
        Step("PATCH", f"{path}/status", operations(("add", "/status/phase", "j"), ("remove", "/spec/size")), JSON_PATCH),
        Step("PATCH", f"{path}/status", operations(("test", "/status/phase", "z")), JSON_PATCH),
        Step("PATCH", f"{path}/status?dryRun=All", {"status": None}, MERGE),
        Step("GET", f"{path}/status"),
        Step("PATCH", f"{path}/status", {"status": None}, MERGE),
        Step("PATCH", f"{path}/status", {"status": {}}, MERGE),
        Step("PATCH", f"{path}/status", {"status": []}, MERGE),
        Step("GET", path),
    ]


def _status_metadata() -> list[Step]:
    """Return changes of the metadata through the status, which ignores most of them."""
    path = f"{THINGS}/m"
    changed: tuple[dict[str, Any], ...] = (
        {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        {"labels": {"A B": "c d"}},
        {"finalizers": ["a.b/c"]},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]},
        {"ownerReferences": [{}]},
        {"generation": 8, "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z"},
        {"deletionGracePeriodSeconds": 4, "generateName": "x-"},
        {"labels": None, "annotations": None},
    )
    puts = [Step("PUT", f"{path}/status", thing("m", current(path) | one, status={"phase": "x"})) for one in changed]
    return [
        Step("POST", THINGS, thing("m", {"labels": {"old": "x"}})),
        *puts,
        *(Step("PATCH", f"{path}/status", {"metadata": one}, MERGE) for one in changed),
        Step("PUT", f"{path}/status", thing("m", current(path), status={"phase": "y"}) | {"kind": "Other"}),
        Step("PUT", f"{path}/status", thing("m", current(path), "v1beta1", status={"phase": "y"})),
        Step("PUT", f"{path}/status", thing("other", current(path), status={"phase": "y"})),
        Step("PUT", f"{path}/status", thing("m", status={"phase": "y"})),
        Step("PUT", f"{path}/status", thing("m", {"resourceVersion": "1"}, status={"phase": "y"})),
        Step("PUT", f"{THINGS}/absent/status", thing("absent", status={"phase": "y"})),
        Step("PUT", f"{THINGS}/absent/status", thing("absent", {"resourceVersion": "1"}, status={"phase": "y"})),
        Step("PATCH", f"{THINGS}/absent/status", {"status": {}}, MERGE),
        Step("GET", f"{THINGS}/absent/status"),
        *(Step("GET", f"{path}/status", headers=accept) for accept in ACCEPTS),
        *(Step(verb, f"{path}/status", {}) for verb in ("POST", "DELETE")),
        Step("GET", f"{path}/status?watch=true"),
        Step("GET", f"{path}/nothing"),
        Step("PATCH", f"{path}/nothing", {}, MERGE),
    ]


def _odd_bodies(one: str) -> list[Any]:
    """Return bodies that are not, or hardly, a Scale of the object."""
    return [
        scale("s") | {"kind": "Other"},
        scale("s") | {"apiVersion": "v1"},
        scale("s") | {"apiVersion": "autoscaling/v2"},
        scale("s") | {"apiVersion": f"{DOMAIN}/v1", "kind": "Thing"},
        scale("s") | {"apiVersion": "extensions/v1beta1"},
        {"metadata": {"name": "s"}, "spec": {"replicas": 1}},
        {"kind": "Scale", "metadata": {"name": "s"}, "spec": {"replicas": 1}},
        {"apiVersion": "autoscaling/v1", "metadata": {"name": "s"}, "spec": {"replicas": 1}},
        {},
        [],
        b"",
        b"{",
        scale("other", spec={"replicas": 1}),
        scale("", spec={"replicas": 1}),
        scale("s", {"namespace": "other"}, spec={"replicas": 1}),
        scale("s", {"namespace": "default"}, spec={"replicas": 1}),
        scale("s", {"resourceVersion": "1"}, spec={"replicas": 1}),
        scale("s", {"resourceVersion": "x"}, spec={"replicas": 1}),
        scale("s", {"uid": "x"}, spec={"replicas": 1}),
        scale("s", {"uid": "{uid:" + one + "}"}, spec={"replicas": 1}),
        scale("s", current(one), spec={"replicas": 4}, status={"replicas": 9, "selector": "x=y"}),
        scale("s", {"labels": {"a": "b"}, "finalizers": ["A B"], "generation": 5}, spec={"replicas": 5}),
        scale("s"),
        scale("s", spec={}),
        scale("s", spec=None),
        scale("s", spec=[]),
        scale("s", metadata={"name": 1}),
    ]


def _scaled() -> list[Step]:
    path, one = f"{THINGS}/s/scale", f"{THINGS}/s"
    puts = [Step("PUT", path, scale("s", spec={"replicas": replicas})) for replicas in REPLICAS]
    patches = [Step("PATCH", path, {"spec": {"replicas": replicas}}, MERGE) for replicas in REPLICAS if replicas not in UNSPELLED]
    return [
        Step("POST", THINGS, thing("s", spec={"size": 1})),
        Step("GET", path),
        Step("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE),
        Step("PATCH", path, {}, MERGE),
        Step("PUT", path, scale("s")),
        *puts,
        Step("GET", one),
        *patches,
        Step("GET", one),
        *(Step("PUT", path, body) for body in _odd_bodies(one)),
        Step("PUT", path, b"apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: s}\nspec: {replicas: 6}\n", YAML),
        Step("PUT", path, b"spec: [", YAML),
        Step("PUT", path, b"{}", {"Content-Type": "text/plain"}),
        Step("PUT", f"{path}?dryRun=All", scale("s", spec={"replicas": 7})),
        Step("PATCH", f"{path}?dryRun=All", {"spec": {"replicas": 8}}, MERGE),
        Step("PATCH", f"{path}?dryRun=No", {"spec": {"replicas": 8}}, MERGE),
        Step("GET", one),
    ]


def _scale_patches() -> list[Step]:
    path = f"{THINGS}/p/scale"
    return [
        Step("POST", THINGS, thing("p", spec={"replicas": 1})),
        *(Step("PATCH", path, body, JSON_PATCH) for body in SCALE_OPERATIONS),
        *(Step("PATCH", path, body if body is not None else b"null", MERGE) for body in SCALE_MERGES),
        Step("PATCH", f"{THINGS}/absent/scale", {"spec": {"replicas": 9}}, MERGE),
        Step("PUT", f"{THINGS}/absent/scale", scale("absent", spec={"replicas": 9})),
        Step("PUT", f"{THINGS}/absent/scale", scale("absent", {"uid": "x", "resourceVersion": "1"}, spec={"replicas": 9})),
        Step("GET", f"{THINGS}/absent/scale"),
        *(Step("GET", path, headers=accept) for accept in ACCEPTS),
        *(Step("PATCH", path, {"spec": {"replicas": 9}}, MERGE | accept) for accept in ACCEPTS),
        *(Step(verb, path, {}) for verb in ("POST", "DELETE")),
        Step("GET", f"{path}?watch=true"),
        Step("PATCH", f"{THINGS}/p/status", {"status": {"replicas": 3, "selector": "a=b"}}, MERGE),
        Step("GET", path),
        *(
            Step("GET", f"{THINGS}/p{tail}?resourceVersion={text}", retry=True)
            for tail in ("", "/scale", "/status")
            for text in ("x", 2**64)
        ),
        Step("GET", f"{PLAINS}/a/scale"),
        Step("GET", f"{PLAINS}/a/status"),
        Step("PATCH", f"{PLAINS}/a/status", {"status": {"phase": "x"}}, MERGE),
    ]


def _odd_scales() -> list[Step]:
    """Return objects whose replicas or selector have the wrong form for scale."""
    kept: dict[str, dict[str, Any]] = {
        "missing": {},
        "null": {"spec": {"deep": None}},
        "nothing": {"spec": {"deep": {"er": {"replicas": None}}}},
        "text": {"spec": {"deep": {"er": {"replicas": "3"}}}},
        "fraction": {"spec": {"deep": {"er": {"replicas": 1.5}}}},
        "large": {"spec": {"deep": {"er": {"replicas": 2**31}}}, "status": {"replicas": 2**32 + 5}},
        "negative": {"spec": {"deep": {"er": {"replicas": -3}}}},
        "through": {"spec": {"deep": {"er": 5}}},
        "list": {"spec": {"deep": [1]}},
        "status": {"spec": {"deep": {"er": {"replicas": 1}}}, "status": {"replicas": "x"}},
        "nostatus": {"spec": {"deep": {"er": {"replicas": 1}}}, "status": {"replicas": None}},
        "selector": {"spec": {"deep": {"er": {"replicas": 1}}}, "status": {"selector": {"a": "b"}}},
        "empty": {"spec": {"deep": {"er": {"replicas": 1}}}, "status": {"selector": ""}},
        "unset": {"spec": {"deep": {"er": {"replicas": -(2**31)}}}},
    }
    steps = []
    for name, members in kept.items():
        path = f"{LOOSE}/{name}"
        steps += [
            Step("POST", UNSCALED, loose(name, **members)),
            Step("POST", f"{LOOSE}?dryRun=All", loose(f"{name}-new", "v1", **members)),
            Step("GET", f"{path}/scale"),
            Step("PUT", f"{path}/scale", scale(name, spec={"replicas": 2})),
            Step("PATCH", f"{path}/scale", {"spec": {"replicas": 3}}, MERGE),
            Step("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE),
            Step("PATCH", path.replace("/v1/", "/v3/") + "/status", {"status": {"phase": "x"}}, MERGE),
            Step("GET", path.replace("/v1/", "/v3/") + "/scale"),
            Step("PATCH", path.replace("/v1/", "/v3/") + "/scale", {"spec": {"replicas": 4}}, MERGE),
            Step("GET", UNSCALED + f"/{name}"),
        ]
    return [*steps, Step("DELETE", LOOSE, {})]


def _dry_runs() -> list[Step]:
    path, dry = f"{THINGS}/d", "?dryRun=All"
    return [
        Step("POST", THINGS, thing("d", spec={"size": 1})),
        Step("POST", THINGS + dry, thing("d")),
        Step("POST", THINGS + dry, thing("e", {"selfLink": "/x", "resourceVersion": "3"}, status={"phase": "x"})),
        Step("PUT", path + dry, thing("d", current(path), spec={"size": 2})),
        Step("PUT", path + dry, thing("d", current(path) | {"selfLink": "/x"}, spec={"size": 1})),
        Step("PUT", path + dry, thing("d", {"resourceVersion": "1"})),
        Step("PUT", path + dry, thing("d", {"uid": "x"})),
        Step("PATCH", path + dry, {"spec": {"size": 3}}, MERGE),
        Step("PATCH", path + dry, {"metadata": {"selfLink": "/x", "resourceVersion": "1"}}, MERGE),
        Step("PATCH", f"{path}/status{dry}", {"status": {"phase": "x"}}, MERGE),
        Step("PATCH", f"{path}/scale{dry}", {"spec": {"replicas": 2}}, MERGE),
        *(Step("DELETE", path + query) for query in (dry, "?dryRun=all", "?dryRun=All&dryRun=All", "?dryRun=")),
        Step("POST", THINGS, thing("d")),
        *(Step("DELETE", path + dry, body) for body in ({"dryRun": ["All"]}, {"preconditions": {"uid": "x"}})),
        Step("DELETE", path + dry, {"preconditions": {"resourceVersion": "1"}}),
        Step("DELETE", path, {"dryRun": ["No"]}),
        Step("DELETE", THINGS + dry),
        Step("GET", path),
        Step("POST", THINGS, thing("f", {"finalizers": ["a.b/c"]})),
        Step("DELETE", f"{THINGS}/f{dry}"),
        Step("GET", f"{THINGS}/f"),
        Step("PATCH", f"{THINGS}/f", {"metadata": {"finalizers": None}}, MERGE),
    ]


SEQUENCES: Final[dict[str, list[Step]]] = {
    "things": _changing("g", THINGS, thing),
    "plains": _changing("g", PLAINS, plain),
    "status": _status_metadata(),
    "scale": _scaled(),
    "scale patches": _scale_patches(),
    "odd scales": _odd_scales(),
    "dry runs": _dry_runs(),
}


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create the definitions on both servers, with one Plain."""
    with pair.served(*definitions()):
        compared(pair, [Step("POST", PLAINS, plain())])
        yield pair


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(served: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    compared(served, SEQUENCES[name])
