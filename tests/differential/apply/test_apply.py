"""Tests of server-side apply: both servers answer alike, and store the same managedFields."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import DOMAIN, MERGE, PLAINS, THINGS, applied, crds, current, plain, scale, thing

pytestmark = pytest.mark.slow

A: Final = f"{THINGS}/a"
BETA: Final = A.replace("/v1/", "/v1beta1/")
TYPE: Final = f"apiVersion: {DOMAIN}/v1\nkind: Thing\n"
SPEC: Final[dict[str, Any]] = {"size": 1, "text": "x"}


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create the definitions on both servers."""
    with pair.served(*crds()):
        yield pair


@pytest.fixture
def emptied(served: Pair) -> Iterator[Pair]:
    """Delete the objects of a test."""
    yield served
    for path in (A, f"{PLAINS}/a"):
        served.differences(Step("PATCH", path, {"metadata": {"finalizers": None}}, MERGE))
        served.differences(Step("DELETE", path))


BODIES: Final[dict[str, Any]] = {
    "nothing": "",
    "null": "null",
    "a list": "[]",
    "a number": "5",
    "a text": "text",
    "no type": "x: 1",
    "another type": "apiVersion: x/v1\nkind: Foo",
    "another version": thing(version="v1beta1"),
    "a number for the version": "apiVersion: 5\nkind: Foo",
    "broken flow": "{",
    "broken JSON": '{"a":}',
    "JSON with tabs": '{\t"apiVersion": "x",\n\t"kind": "y"}',
    "two colons": "a: b: c",
    "a tab": "a: b\n\tc: d",
    "an unknown anchor": "a: *x",
    "duplicates": TYPE + "metadata: {name: a}\nspec: {size: 1, size: 2}",
    "duplicates in JSON": json.dumps(thing(spec={"size": 1})).replace('"size": 1', '"size": 1, "size": 2'),
    "duplicates and no type": '{"a":1, "a":2}',
    "an unknown field": thing(spec={"nope": 1}),
    "unknown metadata": thing(metadata={"foo": 1}),
    "a text for a number": thing(spec={"size": "t"}),
    "a number for an object": thing(spec=7),
    "null for a number": thing(spec={"size": None}),
    "a large number": thing(spec={"size": 9007199254740993}),
    "the largest number": thing(spec={"size": 2**63 - 1}),
    "a fraction": thing(spec={"size": 1.5}),
    "a whole fraction": thing(spec={"size": 2.0}),
    "an escape": thing(spec={"text": "\u00e9\ud83d\ude00\u2028\t\n\\"}),
    "a null label": thing(metadata={"labels": {"a": None}, "annotations": None}),
    "a number for a label": thing(metadata={"labels": {"a": 5}}),
    "a list for labels": thing(metadata={"labels": []}),
    "a list for metadata": {"apiVersion": f"{DOMAIN}/v1", "kind": "Thing", "metadata": []},
    "no metadata": {"apiVersion": f"{DOMAIN}/v1", "kind": "Thing", "spec": SPEC},
    "system fields": thing(metadata={"creationTimestamp": None, "generation": 7, "selfLink": "x", "deletionTimestamp": None}),
    "a creation time": thing(metadata={"creationTimestamp": "2020-01-01T00:00:00Z"}),
    "finalizers": thing(metadata={"finalizers": ["a.b/c", "a.b/d"]}),
    "equal finalizers": thing(metadata={"finalizers": ["a.b/c", "a.b/c"]}),
    "owners": thing(metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "Foo", "name": "x", "uid": "u"}]}),
    "managers": thing(metadata={"managedFields": [{}]}),
    "no managers": thing(metadata={"managedFields": []}),
    "null for managers": thing(metadata={"managedFields": None}),
    "a status": thing(status={"phase": "x"}),
    "an old revision": thing(metadata={"resourceVersion": "1"}),
    "a text for the revision": thing(metadata={"resourceVersion": "x"}),
    "a uid": thing(metadata={"uid": "1"}),
    "another name": thing("b"),
    "no name": thing(metadata={"name": None}),
    "a generated name": thing(metadata={"name": None, "generateName": "a-"}),
    "another namespace": thing(metadata={"namespace": "other"}),
    "an embedded object": thing(spec={"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"node": "n"}}}),
    "a free object": thing(
        spec={"free": {"known": {"name": "n"}, "more": {"a": [1]}}, "map": {"k": {"name": "n"}}, "list": [{"name": "n"}]}
    ),
}
VALIDATED: Final = ("duplicates", "duplicates in JSON", "duplicates and no type", "an unknown field")


@pytest.mark.parametrize("name", BODIES)
def test_bodies(emptied: Pair, name: str) -> None:
    """Create an object by an apply, repeat it, and apply it to an object of somebody else."""
    apply = applied(A, BODIES[name])
    steps = [
        apply,
        apply,
        Step("DELETE", A),
        Step("POST", THINGS, thing(spec=SPEC)),
        apply,
        applied(A, BODIES[name], "fieldManager=x&force=1"),
    ]

    compared(emptied, [*steps, Step("GET", A)])


@pytest.mark.parametrize("mode", ["Ignore", "Warn", "Strict", "Nothing"])
@pytest.mark.parametrize("name", VALIDATED)
def test_field_validation(emptied: Pair, name: str, mode: str) -> None:
    """Report duplicate keys as the field validation demands."""
    compared(emptied, [applied(A, BODIES[name], f"fieldManager=x&fieldValidation={mode}")])


@pytest.mark.parametrize(
    "options",
    [
        "",
        "fieldManager=",
        f"fieldManager={'m' * 129}",
        "fieldManager=a%01b",
        "force=maybe&fieldManager=x",
        "fieldManager=x&dryRun=All",
        "force=1",
        "fieldManager=x&dryRun=x",
    ],
)
def test_options(emptied: Pair, options: str) -> None:
    """Require a manager, and check the other options."""
    compared(emptied, [applied(A, thing(spec=SPEC), options), Step("PATCH", f"{A}?force=true", {}, MERGE)])


@pytest.mark.parametrize(
    "path", [A, f"{A}/status", f"{A}/scale", "/api/v1/namespaces/default", "/api/v1/namespaces/default/status", f"{PLAINS}/a"]
)
def test_media_types(served: Pair, path: str) -> None:
    """Name apply among the accepted types."""
    compared(served, [Step("PATCH", path, {}, {"Content-Type": "text/plain"})])


def test_ownership(emptied: Pair) -> None:
    """Share, take over, give up and remove fields."""
    compared(
        emptied,
        [
            applied(A, thing(spec={"size": 1, "nested": {"name": "n"}}, metadata={"labels": {"a": "1", "b": "2"}})),
            applied(A, thing(spec={"size": 1, "text": "t"}), "fieldManager=y"),
            applied(A, thing(spec={"size": 2, "text": "u"}), "fieldManager=z"),
            applied(A, thing(spec={"size": 2}), "fieldManager=z&force=true"),
            applied(A, thing(spec={"nested": {"name": "n"}}, metadata={"labels": {"a": "1"}})),
            Step("PATCH", f"{A}?fieldManager=u", {"spec": {"text": "v", "size": None}}, MERGE),
            applied(A, thing(spec={"text": "w"}), "fieldManager=y"),
            applied(A, thing(), "fieldManager=y"),
            applied(A, thing(), "fieldManager=z"),
            applied(A, thing()),
            Step("PUT", f"{A}?fieldManager=u", thing("a", current(A), spec=SPEC)),
            Step("PUT", f"{A}?fieldManager=u2", thing("a", current(A), spec=SPEC | {"text": "k"})),
            Step("GET", A),
        ],
    )


def test_versions(emptied: Pair) -> None:
    """Compare the fields of managers of other versions in these versions."""
    compared(
        emptied,
        [
            applied(A, thing(spec={"size": 1, "text": "t"})),
            Step("PATCH", f"{BETA}?fieldManager=beta", {"spec": {"text": "k", "nested": {"name": "n"}}}, MERGE),
            applied(BETA, thing(version="v1beta1", spec={"size": 1, "text": "k"})),
            applied(BETA, thing(version="v1beta1", spec={"size": 2, "text": "u"}), "fieldManager=q"),
            applied(A, thing(spec={"size": 2, "text": "u"}), "fieldManager=q"),
            applied(A, thing(spec={"size": 2}), "fieldManager=q&force=1"),
            applied(A, thing(spec={})),
            Step("GET", BETA),
        ],
    )


def test_status(emptied: Pair) -> None:
    """Record what is applied to the status by itself."""
    status = f"{A}/status"
    compared(
        emptied,
        [
            applied(status, thing(status={"phase": "x"})),
            applied(A, thing(spec=SPEC, status={"phase": "y"})),
            applied(status, thing(status={"phase": "x"}, spec={"size": 7}, metadata={"labels": {"a": "b"}})),
            applied(status, thing(status={"phase": "z"}), "fieldManager=y"),
            applied(status, thing(status={"phase": "z"}), "fieldManager=y&force=true"),
            Step(
                "PATCH",
                f"{status}?fieldManager=u",
                {"status": {"replicas": 2}, "spec": {"size": 9}, "metadata": {"labels": {"q": "r"}}},
                MERGE,
            ),
            applied(status, thing(), "fieldManager=y"),
            Step("PUT", f"{status}?fieldManager=u", thing("a", current(A))),
            applied(f"{PLAINS}/a", plain(spec=SPEC, status={"phase": "y"})),
            applied(f"{PLAINS}/a/status", plain(status={"phase": "y"})),
        ],
    )


def test_scale(emptied: Pair) -> None:
    """Translate the managers of replicas; what an apply changes cannot be converted, as in the reference."""
    at = f"{A}/scale"
    compared(
        emptied,
        [
            applied(at, scale(spec={"replicas": 4})),
            Step("POST", f"{THINGS}?fieldManager=base", thing(spec=SPEC | {"replicas": 2})),
            Step("PATCH", f"{at}?fieldManager=z", {"spec": {"replicas": 7}}, MERGE),
            Step("GET", A),
            applied(at, scale(spec={"replicas": 4})),
            applied(at, scale(spec={"replicas": 4}), "fieldManager=x&force=1"),
            applied(at, scale(spec={"replicas": 7})),
            Step("GET", A),
            applied(at, scale(spec={"replicas": 7, "x": 1})),
            applied(at, thing()),
            applied(at, scale("b", spec={"replicas": 7})),
            Step("PUT", f"{at}?fieldManager=z2", scale(spec={"replicas": 8}, metadata={"managedFields": [{}]})),
            Step("GET", A),
            applied(A, thing(spec={"replicas": 3}), "fieldManager=w"),
            applied(A, thing(spec={"replicas": 3}), "fieldManager=w&force=1"),
            Step("PUT", f"{at}?fieldManager=z2", scale(spec={"replicas": 0})),
            Step("GET", A),
            Step("PUT", f"{at}?fieldManager=z3", scale(spec={"replicas": 1})),
            Step("GET", A),
        ],
    )


def test_before_first_apply(emptied: Pair) -> None:
    """Begin to record managers with the first apply to an object without any."""
    compared(
        emptied,
        [
            Step("POST", f"{THINGS}?fieldManager=base", thing(spec=SPEC)),
            Step("PATCH", f"{A}?fieldManager=base", {"metadata": {"managedFields": [{}]}}, MERGE),
            Step("PATCH", f"{A}?fieldManager=base", {"spec": {"text": "k"}}, MERGE),
            applied(A, thing(spec={"size": 1, "text": "l"})),
            applied(A, thing(spec={"size": 1})),
            Step("GET", A),
        ],
    )


def _last_applied(**spec: Any) -> dict[str, Any]:
    return {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(thing(spec=spec))}}


@pytest.mark.parametrize("recorded", [{"size": 1, "text": "x"}, {"size": 1}, {"size": 2, "text": "x"}, {}])
@pytest.mark.parametrize("manager", ["kubectl", "other"])
def test_client_side_apply(emptied: Pair, manager: str, recorded: dict[str, Any]) -> None:
    """Let kubectl take over the fields that client-side apply set, and update its annotation."""
    compared(
        emptied,
        [
            Step("POST", f"{THINGS}?fieldManager=kubectl-client-side-apply", thing("a", _last_applied(**recorded), spec=SPEC)),
            applied(A, thing(spec={"size": 5, "text": "y"}), f"fieldManager={manager}"),
            applied(A, thing(spec={"size": 5}), f"fieldManager={manager}"),
            applied(A, thing(spec={"size": 5}, metadata={"annotations": {"a": "b"}}), f"fieldManager={manager}&force=1"),
            Step("GET", A),
        ],
    )


@pytest.mark.parametrize("annotation", ["", "x", "[]", "{}", '{"apiVersion": "v1"}', json.dumps(thing(version="v1beta1", spec=SPEC))])
def test_unusable_annotation(emptied: Pair, annotation: str) -> None:
    """Ignore an annotation that is no configuration of this version."""
    metadata = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": annotation}}
    compared(
        emptied,
        [
            Step("POST", f"{THINGS}?fieldManager=kubectl-client-side-apply", thing("a", metadata, spec=SPEC)),
            applied(A, thing(spec={"size": 5}), "fieldManager=kubectl"),
            applied(A, thing(spec={"size": 5}), "fieldManager=kubectl&force=1"),
        ],
    )


def test_many_managers(emptied: Pair) -> None:
    """Merge the oldest of more than ten managers of updates."""
    steps = [Step("POST", f"{THINGS}?fieldManager=base", thing(spec=SPEC))]
    for number in range(14):
        version = A if number % 3 else BETA
        steps.append(Step("PATCH", f"{version}?fieldManager=m{number:02}", {"metadata": {"labels": {f"l{number}": "x"}}}, MERGE))
    compared(emptied, [*steps, applied(A, thing(spec={"size": 1})), Step("GET", A)])


def test_deleted_object(emptied: Pair) -> None:
    """Apply to an object that waits for its finalizer, and remove the finalizer by an apply."""
    compared(
        emptied,
        [
            applied(A, thing(spec=SPEC, metadata={"finalizers": ["a.b/c"]})),
            Step("DELETE", A),
            applied(A, thing(spec={"size": 3}), "fieldManager=y"),
            applied(A, thing(spec={"size": 3}, metadata={"finalizers": ["a.b/d"]}), "fieldManager=y&force=1"),
            applied(A, thing(spec={"size": 3}), "fieldManager=y&force=1"),
            applied(A, thing(spec=SPEC)),
            Step("GET", A),
        ],
    )


def test_large_objects(emptied: Pair) -> None:
    """Apply and update objects that worker processes handle, in JSON and YAML."""
    large = {"map": {f"k{number}": {"name": "n" * 20} for number in range(1500)}}
    smaller = {"map": {f"k{number}": {"name": "n" * 20} for number in range(1000)}}
    lines = "".join(f"    k{number}: {{name: m}}\n" for number in range(1500))
    compared(
        emptied,
        [
            applied(A, thing(spec=large)),
            applied(A, thing(spec=smaller)),
            applied(A, f"{TYPE}metadata: {{name: a}}\nspec:\n  map:\n{lines}", "fieldManager=y&force=true"),
            applied(A, thing(spec=large), "fieldManager=z"),
            Step("PATCH", f"{A}?fieldManager=u", {"spec": {"map": {"k1": {"name": "u"}}}}, MERGE),
            Step("PUT", f"{A}?fieldManager=u", thing("a", current(A), spec=smaller)),
            Step("PATCH", f"{A}/scale?fieldManager=s", {"spec": {"replicas": 2}}, MERGE),
            Step("GET", A),
        ],
    )
