"""Tests of watches and their events."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.watching import differences
from tests.support.builders.crds import crd, version

pytestmark = pytest.mark.slow

GROUP: Final = "watch.example.com"
ALL: Final = f"/apis/{GROUP}/v1/tasks"
BASE: Final = f"/apis/{GROUP}/v1/namespaces/default/tasks"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WINDOW: Final = 8
"""Seconds in which the steps of a test must end."""

FORMS: Final = {
    "Table": "application/json;as=Table;g=meta.k8s.io;v=v1",
    "Table v1beta1": "application/json;as=Table;g=meta.k8s.io;v=v1beta1",
    "Partial": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "YAML": "application/yaml",
    "stream": "application/json;stream=watch",
    "Protobuf": "application/vnd.kubernetes.protobuf,application/json",
    "Text": "text/html",
}
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"a": {"type": "string"}, "d": {"type": "integer", "default": 5}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
_STORED: Final = version(
    "v1",
    storage=True,
    schema=SCHEMA,
    subresources={"status": {}},
    selectableFields=[{"jsonPath": ".spec.a"}],
    additionalPrinterColumns=[{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
)
_DEPRECATED: Final = version("v2", schema=SCHEMA | {"title": "Other"}, deprecated=True)
CRD: Final = crd("tasks", _STORED, _DEPRECATED, kind="Task", group=GROUP)


def _task(name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Task", "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def _watch(query: str = "", path: str = BASE, form: str = "") -> Step:
    return Step("GET", f"{path}?watch=true&timeoutSeconds={WINDOW}{query}", headers={"Accept": FORMS[form]} if form else {})


def _patch(name: str, body: Any, tail: str = "") -> Step:
    return Step("PATCH", f"{BASE}/{name}{tail}", body)


FIRST: Final = [Step("POST", BASE, _task(name, {"team": "x"}, a=name)) for name in ("old1", "old2")]
LIFE: Final = [
    Step("POST", BASE, _task("one", {"team": "x"}, a="one")),
    Step("POST", BASE, _task("two", {"team": "y"}, a="two")),
    Step("POST", f"{BASE}?dryRun=All", _task("dry", {"team": "x"})),
    _patch("one", {"spec": {"a": "moved"}}),
    _patch("one", {}),
    _patch("two", {"metadata": {"labels": {"team": "x"}}}),
    _patch("one", {"metadata": {"labels": {"team": "y"}}}),
    _patch("one", {"metadata": {"labels": {"team": "x"}}}),
    _patch("old1", {"status": {"phase": "done"}}, "/status"),
    _patch("two", {"spec": {"a": "one"}}),
    _patch("old2", {"metadata": {"finalizers": ["example.com/hold"]}}),
    Step("DELETE", f"{BASE}/old2"),
    _patch("old2", {"metadata": {"finalizers": None}}),
    Step("DELETE", f"{BASE}/one"),
    Step(
        "PUT",
        f"{BASE}/old1",
        _task("old1", {"team": "z"}, a="old1") | {"metadata": {"name": "old1", "resourceVersion": f"{{rv:{BASE}/old1}}"}},
    ),
    Step("DELETE", f"{BASE}?labelSelector=team%3Dx"),
]
FROM: Final = f"&resourceVersion={{rv:{BASE}/old1}}"
WATCHES: Final = [
    _watch(),
    _watch(path=ALL),
    _watch("&resourceVersion=0"),
    _watch(FROM),
    _watch(FROM + "&labelSelector=team%3Dx"),
    _watch("&labelSelector=team+in+(y,z)"),
    _watch("&labelSelector=!team"),
    _watch("&fieldSelector=metadata.name%3Done"),
    _watch("&fieldSelector=metadata.name!%3Done,metadata.namespace%3Ddefault", ALL),
    _watch("&fieldSelector=spec.a%3Done"),
    _watch("&fieldSelector=spec.a%3Done&labelSelector=team%3Dx"),
    _watch("&allowWatchBookmarks=true" + FROM),
    _watch("&allowWatchBookmarks=x"),
    _watch("&allowWatchBookmarks=true&resourceVersion=0"),
    _watch("&allowWatchBookmarks=true", f"/apis/{GROUP}/v1/watch/namespaces/default/tasks"),
    Step("GET", f"/apis/{GROUP}/v1/watch/namespaces/default/tasks?timeoutSeconds={WINDOW}&allowWatchBookmarks=true"),
    _watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
    _watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0&labelSelector=team%3Dq"),
    _watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
    _watch("&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true" + FROM),
    _watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", form="Table"),
    _watch("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", form="Partial"),
    _watch(path=f"/apis/{GROUP}/v2/namespaces/default/tasks"),
    _watch(path=f"/apis/{GROUP}/v1/watch/namespaces/default/tasks"),
    _watch(path=f"/apis/{GROUP}/v1/watch/namespaces/default/tasks/one"),
    _watch(path=f"{BASE}/one"),
    _watch(path=f"/apis/{GROUP}/v1/namespaces/other/tasks"),
    *(_watch(FROM, form=form) for form in FORMS),
    _watch("&includeObject=Object", form="Table"),
    _watch("&includeObject=None", form="Table"),
]
REFUSED: Final = [
    "&resourceVersion=1",
    "&resourceVersion=x",
    "&resourceVersion=-1",
    "&resourceVersion=99999999999",
    "&resourceVersionMatch=Exact",
    "&resourceVersionMatch=NotOlderThan",
    "&resourceVersionMatch=NotOlderThan&resourceVersion=5",
    "&sendInitialEvents=true",
    "&sendInitialEvents=true&resourceVersionMatch=Exact",
    "&sendInitialEvents=x",
    "&sendInitialEvents=false",
    "&limit=1&resourceVersion=0",
    "&continue=x",
    "&fieldSelector=spec.none%3Dx",
    "&fieldSelector=x",
    "&labelSelector=a+b",
    "&labelSelector=%3D%3D",
    "&timeoutSeconds=0",
    "&timeoutSeconds=x",
    "&watch=false",
    "&dryRun=All",
    "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=1",
]


def test_events(pair: Pair) -> None:
    """Send equal events and equal ends in watches of every kind."""
    with pair.served(CRD):
        found = [line for step in FIRST for line in pair.differences(step)]
        found += differences(pair, WATCHES, LIFE)

    assert_none(found)


def test_refused(pair: Pair) -> None:
    """Refuse watches with equal messages, as a response or as an event."""
    with pair.served(CRD):
        found = [line for step in FIRST for line in pair.differences(step)]
        watches = [Step("GET", f"{BASE}?watch=true&timeoutSeconds=1{query}") for query in REFUSED]
        found += differences(pair, watches, [])

    assert_none(found)


def test_definitions(pair: Pair) -> None:
    """Send equal events to watches of definitions, and of objects whose definition is changed and deleted."""
    one = f"{CRDS}/extras.{GROUP}"
    names = {"plural": "extras", "singular": "extra", "kind": "Extra", "listKind": "ExtraList"}
    extra = CRD | {"metadata": {"name": f"extras.{GROUP}"}, "spec": CRD["spec"] | {"names": names}}
    objects = f"/apis/{GROUP}/v1/namespaces/default/extras"
    steps = [
        Step("POST", objects, _task("e") | {"kind": "Extra"}),
        Step("DELETE", one),
        Step("GET", one, retry=True, until="not found"),
    ]
    with pair.served(CRD):
        found = pair.differences(Step("POST", CRDS, extra))
        found += pair.differences(Step("GET", one, retry=True, until="InitialNamesAccepted"))
        found += pair.differences(Step("GET", objects, retry=True, until="items"))
        watches = [
            _watch(path=objects),
            _watch(path=objects, form="Table"),
            _watch(f"&resourceVersion={{rv:{one}}}&fieldSelector=metadata.name%3Dextras.{GROUP}", CRDS, "Partial"),
            _watch("&labelSelector=no%3Dsuch", CRDS),
        ]
        found += differences(pair, watches, steps)

    assert_none(found)
