"""Tests of names, namespaces, owners, finalizers and the other metadata fields in writes."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import (
    DOMAIN,
    JSON_PATCH,
    MERGE,
    PLAINS,
    THINGS,
    crds,
    current,
    operations,
    plain,
    thing,
)

pytestmark = pytest.mark.slow

ONE: Final = f"{THINGS}/a"
DRY: Final = "?dryRun=All"
LONG: Final = ".".join(["x" * 50] * 5)[:253]
NAMES: Final[tuple[Any, ...]] = (
    "",
    "A",
    "a_b",
    "a.b",
    "a..b",
    ".a",
    "a.",
    "-a",
    "a-",
    "a/b",
    "a%b",
    ".",
    "..",
    "a b",
    "é",
    "0",
    "x" * 63,
    "x" * 64,
    "x" * 253,
    "x" * 254,
    LONG,
    LONG + ".yyyy",
    "é" * 127,
    "a\u0000b",
    None,
    1,
    [],
)
PREFIXES: Final[tuple[Any, ...]] = (
    "a-",
    "-",
    "--",
    "a.",
    "A-",
    "a_",
    "a/",
    "x" * 58,
    "x" * 59,
    "x" * 70 + "-",
    "x" * 247,
    "x" * 248,
    "x" * 253,
    "x" * 254,
    "x" * 300,
    "é" * 40,
    "",
    None,
    5,
)
OWNER: Final[dict[str, Any]] = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
CONTROLLER: Final = OWNER | {"controller": True}
OWNERS: Final[tuple[Any, ...]] = (
    [{}],
    [OWNER | {"uid": ""}],
    [OWNER | {"apiVersion": "a/b/c"}],
    [OWNER | {"apiVersion": "/v1"}],
    [OWNER | {"apiVersion": "apps/"}],
    [OWNER | {"apiVersion": "apps/v1", "name": "é b"}],
    [OWNER | {"kind": "Event"}],
    [OWNER | {"kind": "Event", "apiVersion": "events.k8s.io/v1"}],
    [OWNER | {"kind": "Namespace", "name": "default"}],
    [OWNER | {"blockOwnerDeletion": True}],
    [OWNER | {"blockOwnerDeletion": "true"}],
    [OWNER | {"controller": None}],
    [CONTROLLER, OWNER | {"uid": "v", "controller": True}],
    [CONTROLLER, CONTROLLER],
    [CONTROLLER, CONTROLLER | {"uid": "v"}, CONTROLLER | {"uid": "w"}],
    [OWNER, OWNER, OWNER | {"uid": "v"}, OWNER | {"uid": "v"}],
    [OWNER, OWNER | {"controller": False}],
    [CONTROLLER, OWNER | {"uid": "v", "controller": True, "kind": "", "name": ""}],
    [OWNER | {"name": 1}],
    [None],
    {},
    "x",
)
KEYS: Final = (
    "",
    "a",
    "A/b",
    "a/b/c",
    "/a",
    "a/",
    "-a",
    "a-",
    "a_b.c",
    "a b",
    "é",
    "x" * 63,
    "x" * 64,
    "x" * 253 + "/a",
    "x" * 254 + "/a",
    LONG + "/" + "y" * 63,
    "Ex.com/A",
    "a..b/c",
)
VALUES: Final[tuple[Any, ...]] = ("", "a", "A.b_c-d", "-a", "a b", "é", "x" * 63, "x" * 64, "a/b", 1, None, True, {}, ["a"])
FINALIZERS: Final[tuple[Any, ...]] = (
    ["x"],
    ["a.b/c", "a.b/c"],
    ["A B"],
    ["a/b/c", ""],
    ["x" * 64],
    ["orphan", "foregroundDeletion"],
    ["orphan", "orphan", "kubernetes"],
    ["b.c", "a.b/c", "a"],
    [1],
    [None],
    [],
    "x",
)
SET_BY_CLIENTS: Final[tuple[dict[str, Any], ...]] = (
    {"uid": "x"},
    {"uid": 1},
    {"generation": 7},
    {"generation": -7},
    {"generation": 0},
    {"generation": 1.5},
    {"generation": "1"},
    {"creationTimestamp": "2001-01-01T00:00:00Z"},
    {"creationTimestamp": "2001-01-01T00:00:00.5+02:00"},
    {"creationTimestamp": "yesterday"},
    {"creationTimestamp": None, "deletionTimestamp": None},
    {"creationTimestamp": 1},
    {"deletionTimestamp": "2001-01-01T00:00:00Z"},
    {"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30},
    {"deletionTimestamp": "x"},
    {"deletionGracePeriodSeconds": 30},
    {"deletionGracePeriodSeconds": -1},
    {"deletionGracePeriodSeconds": 0},
    {"deletionGracePeriodSeconds": "1"},
    {"selfLink": "/x"},
    {"selfLink": 1},
    {"clusterName": "x"},
    {"namespace": "other"},
    {"namespace": ""},
    {"namespace": None},
    {"namespace": 1},
    {"generateName": "z-"},
    {"generateName": "Z_"},
    {"labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": [], "managedFields": []},
    {"labels": None, "annotations": None, "finalizers": None, "ownerReferences": None, "managedFields": None},
    {"labels": []},
    {"annotations": "x"},
)
VERSIONS: Final[tuple[Any, ...]] = (
    "",
    "0",
    "00",
    "1",
    "5",
    "-1",
    "x",
    "1.5",
    " 1",
    "99999999999",
    "18446744073709551615",
    "18446744073709551616",
    1,
    None,
)


DISORDER: Final[tuple[dict[str, Any], ...]] = (
    {"labels": {"A b": "c d"}, "annotations": {"e f": "x"}, "ownerReferences": [{}], "finalizers": ["g h", "orphan", "foregroundDeletion"]},
    {"ownerReferences": [OWNER | {"kind": "", "name": "", "apiVersion": "a/b/c"}, CONTROLLER, CONTROLLER | {"uid": "", "name": ""}]},
    {"generateName": "A_", "labels": {"a": "-"}, "finalizers": ["x y", "x y"]},
    {"ownerReferences": [OWNER | {"kind": "Event", "uid": ""}], "annotations": {"a/b/c": ""}},
)
NO_METADATA: Final[tuple[Any, ...]] = (
    None,
    [],
    "x",
    1,
    {"labels": {"A b": "c d", "e": "f g"}, "annotations": {"h i": ""}, "finalizers": ["j k"]},
)


def _creates(metadata: dict[str, Any], **members: Any) -> Step:
    return Step("POST", THINGS + DRY, thing("new", metadata, **members))


def _puts(metadata: dict[str, Any]) -> Step:
    return Step("PUT", ONE + DRY, thing("a", current(ONE) | metadata))


def _patches(metadata: dict[str, Any]) -> Step:
    return Step("PATCH", ONE + DRY, {"metadata": metadata}, MERGE)


def _all(*metadata: dict[str, Any]) -> list[Step]:
    """Return the metadata in a create, a replacement and a patch of the object and of its status."""
    made = [verb(one) for one in metadata for verb in (_creates, _puts, _patches)]
    return made + [
        step
        for one in metadata
        for step in (
            Step("PUT", f"{ONE}/status{DRY}", thing("a", current(ONE) | one)),
            Step("PATCH", f"{ONE}/status{DRY}", {"metadata": one}, MERGE),
        )
    ]


def _sizes() -> list[Step]:
    limit = 256 * 1024
    sized = [{"a": "x" * (limit - 1)}, {"a": "x" * limit}, {"a" * 10: "x" * (limit // 2), "b" * 10: "é" * (limit // 4 - 10)}]
    sized += [{"a" * 10: "x" * (limit // 2), "b" * 10: "é" * (limit // 4 - 9)}, {"a b": "x" * limit, "c d": ""}]
    return [verb({"annotations": one}) for one in sized for verb in (_creates, _patches)]


def _targets() -> list[Step]:
    """Return steps whose body has another name or namespace than the path."""
    other = THINGS.replace("/default/", "/kube-system/")
    return [
        Step("POST", other + DRY, thing("b", {"namespace": "default"})),
        Step("POST", other + DRY, thing("b", {"namespace": "kube-system"})),
        Step("POST", THINGS.replace("/default/", "/none/") + DRY, thing("b")),
        Step("POST", THINGS.replace("/default/", "/No_Ne/") + DRY, thing("b")),
        Step("POST", THINGS.replace("/namespaces/default", "") + DRY, thing("b", {"namespace": "default"})),
        Step("POST", THINGS.replace("/namespaces/default", "") + DRY, thing("b")),
        Step("POST", PLAINS + DRY, plain("b", {"namespace": "default"})),
        Step("POST", PLAINS.replace("/plains", "/namespaces/default/plains") + DRY, plain("b")),
        Step("PUT", f"{PLAINS}/a{DRY}", plain("a", current(f"{PLAINS}/a") | {"namespace": "default"})),
        Step("PATCH", f"{PLAINS}/a{DRY}", {"metadata": {"namespace": "default"}}, MERGE),
        Step("PUT", f"{other}/a{DRY}", thing("a", {"resourceVersion": "1"})),
        Step("PUT", f"{THINGS}/b{DRY}", thing("a", current(ONE))),
        Step("PUT", f"{ONE}{DRY}", thing("", current(ONE))),
        Step("PUT", f"{ONE}{DRY}", thing("", {"generateName": "a"})),
        Step("PUT", f"{ONE}{DRY}", thing("b", current(ONE))),
        Step("PUT", f"{ONE}{DRY}", {"apiVersion": f"{DOMAIN}/v1", "kind": "Thing"}),
        Step("PUT", f"{ONE}{DRY}", {"apiVersion": f"{DOMAIN}/v1", "kind": "Thing", "metadata": None}),
        Step("PUT", f"{THINGS}/A_{DRY}", thing("A_", {"resourceVersion": "1"})),
        Step("PUT", f"{THINGS}/a%25b{DRY}", thing("a%b")),
        Step("PUT", f"{THINGS}/a%2Fb{DRY}", thing("a/b")),
        Step("PUT", f"{THINGS}/..{DRY}", thing("..")),
        Step("GET", f"{THINGS}/A_"),
        Step("GET", f"{THINGS}/a%25b"),
        Step("PATCH", f"{THINGS}/a%25b", {}, MERGE),
        Step("DELETE", f"{THINGS}/a%25b"),
        Step("DELETE", f"{THINGS}/{'x' * 300}"),
    ]


def _versions() -> list[Step]:
    dry = [Step("POST", THINGS + DRY, thing("new", {"resourceVersion": version})) for version in VERSIONS]
    real = [Step("POST", THINGS, thing(f"v{index}", {"resourceVersion": version})) for index, version in enumerate(VERSIONS)]
    puts = [Step("PUT", path + DRY, thing("a", {"resourceVersion": version})) for version in VERSIONS for path in (ONE, f"{ONE}/status")]
    patches = [Step("PATCH", ONE + DRY, {"metadata": {"resourceVersion": version}}, MERGE) for version in VERSIONS]
    json_patches = [
        Step("PATCH", ONE + DRY, operations(("replace", "/metadata/resourceVersion", version)), JSON_PATCH) for version in VERSIONS
    ]
    uids = [
        Step("PUT", ONE + DRY, thing("a", current(ONE) | {"uid": "{uid:" + ONE + "}"})),
        Step("PUT", ONE + DRY, thing("a", {"uid": "{uid:" + ONE + "}"})),
        Step("PUT", ONE + DRY, thing("a", {"uid": "other"})),
        Step("PUT", f"{ONE}/status{DRY}", thing("a", current(ONE) | {"uid": "other"})),
        Step("PUT", f"{THINGS}/none{DRY}", thing("none", {"uid": "other"})),
    ]
    return dry + real + puts + patches + json_patches + uids


def _deleting() -> list[Step]:
    """Return changes of an object that waits for its finalizers."""
    path, held = f"{THINGS}/held", ["a.b/c", "a.b/d"]
    return [
        Step("POST", THINGS, thing("held", {"finalizers": held}, spec={"size": 1})),
        Step("DELETE", path),
        Step("PATCH", path, {"metadata": {"finalizers": [*held, "a.b/e"]}}, MERGE),
        Step("PATCH", path, {"metadata": {"finalizers": ["z", "y"]}}, MERGE),
        Step("PATCH", path, {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}}, MERGE),
        Step("PATCH", path, {"metadata": {"deletionTimestamp": "2001-01-01T00:00:00Z"}}, MERGE),
        Step("PATCH", path, {"metadata": {"deletionGracePeriodSeconds": 5}}, MERGE),
        Step("PATCH", path, {"metadata": {"labels": {"a": "b"}}, "spec": {"size": 2}}, MERGE),
        Step("PATCH", path, {"metadata": {"finalizers": held[1:]}}, MERGE),
        Step("PUT", path, thing("held", current(path) | {"finalizers": held})),
        Step("PATCH", f"{path}/status", {"metadata": {"finalizers": None}, "status": {"phase": "x"}}, MERGE),
        Step("PATCH", f"{path}{DRY}", {"metadata": {"finalizers": None}}, MERGE),
        Step("GET", path),
        Step("POST", THINGS, thing("held")),
        Step("PUT", path, thing("held", current(path))),
        Step("GET", path),
        Step("PUT", path, thing("held", {"resourceVersion": "1"})),
    ]


SEQUENCES: Final[dict[str, list[Step]]] = {
    "names": [Step("POST", THINGS + DRY, thing() | {"metadata": {"name": name}}) for name in NAMES]
    + [Step("POST", PLAINS + DRY, plain() | {"metadata": {"name": name}}) for name in NAMES[:12]],
    "names and prefixes": [Step("POST", THINGS + DRY, thing("a-b", {"generateName": prefix})) for prefix in PREFIXES]
    + [Step("POST", THINGS, thing("a", {"generateName": "a-"}))],
    "targets": _targets(),
    "revisions": _versions(),
    "set by clients": _all(*SET_BY_CLIENTS),
    "labels": _all(*({"labels": {key: "v"}} for key in KEYS)) + _all(*({"labels": {"k": value}} for value in VALUES)),
    "annotations": _all(*({"annotations": {key: "v"}} for key in KEYS)) + _all(*({"annotations": {"k": value}} for value in VALUES)),
    "sizes": _sizes(),
    "owners": _all(*({"ownerReferences": owners} for owners in OWNERS)),
    "finalizers": _all(*({"finalizers": finalizers} for finalizers in FINALIZERS)),
    "deleting": _deleting(),
    "nothing": [
        step
        for metadata in NO_METADATA
        for step in (
            Step("POST", THINGS + DRY, thing() | {"metadata": metadata}),
            Step("PATCH", ONE + DRY, {"metadata": metadata}, MERGE),
        )
    ],
}


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create the definitions on both servers, with one object of each."""
    metadata = {"labels": {"old": "x"}, "annotations": {"old": "x"}, "finalizers": ["old"], "ownerReferences": [OWNER | {"uid": "old"}]}
    with pair.served(*crds()):
        compared(pair, [Step("POST", THINGS, thing("a", metadata)), Step("POST", PLAINS, plain())])
        yield pair


@pytest.mark.parametrize("prefix", PREFIXES, ids=lambda prefix: str(prefix)[:8])
def test_generated_name(served: Pair, prefix: Any) -> None:
    """Append a random suffix to generateName alike, and refuse invalid prefixes with equal messages."""
    step = Step("POST", THINGS + DRY, thing() | {"metadata": {"generateName": prefix}})

    assert _answered(served.ours, step) == _answered(served.reference, step)


def _answered(side: Side, step: Step) -> tuple[int, object]:
    """Return code and body without the random suffix."""
    response, data = side.raw(step)
    body = json.loads(data)
    name = body.get("details", {}).get("name", "") if body["kind"] == "Status" else body["metadata"]["name"]
    return response.status, masked(json.loads(data.replace(name[-5:].encode(), b"*"))) if name else body


@pytest.mark.parametrize("number", ["1e+20", "1.50", "15E1", "1E30", "9223372036854775808", "123456789012345678901234"])
def test_numbers_in_errors(served: Pair, number: str) -> None:
    """Show a number that is no generation as it is encoded anew."""
    body = json.dumps(thing("a", {"generation": "NUMBER"})).replace('"NUMBER"', number).encode()

    assert served.differences(Step("POST", f"{THINGS}{DRY}", body, {"Content-Type": "application/json"})) == []


@pytest.mark.parametrize("verb", [_creates, _puts, _patches])
@pytest.mark.parametrize("metadata", DISORDER)
def test_order_of_errors(served: Pair, metadata: dict[str, Any], verb: Callable[[dict[str, Any]], Step]) -> None:
    """Report several errors in the reference's order."""
    answers = []
    for side in (served.ours, served.reference):
        details = json.loads(side.raw(side.resolved(verb(metadata)))[1])["details"]
        answers.append([(cause["field"], cause["message"]) for cause in details["causes"]])

    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(served: Pair, name: str) -> None:
    """Return equal codes, warnings and bodies for the sequence."""
    compared(served, SEQUENCES[name])
