"""Tests of watch requests: combinations of options, paths, media types, and definitions that change meanwhile."""

import itertools
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.deletion_steps import GROUP, NOTES, PARTIAL, PARTIALS, TABLE, crd, note
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.watching import Watching, differences

pytestmark = pytest.mark.slow

ROOT: Final = f"/apis/{GROUP}/v1"
ONE: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/notes.{GROUP}"
JSON_PATCH: Final = {"Content-Type": "application/json-patch+json"}
WINDOW: Final = 8
"""Seconds in which the steps of a test must end; a bookmark comes two seconds before their end."""
FIRST: Final = [
    Step("POST", NOTES, note("a", labels={"t": "x"}, a="1")),
    Step("POST", NOTES, note("b", "example.com/x", labels={"t": "y"}, a="2")),
]
OPTIONS: Final = [
    "".join(parts)
    for parts in itertools.product(
        ("", "&sendInitialEvents=true", "&sendInitialEvents=false"),
        ("", "&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact", "&resourceVersionMatch=x"),
        ("", "&allowWatchBookmarks=true", "&resourceVersion=0", f"&resourceVersion={{rv:{NOTES}/a}}&allowWatchBookmarks=true"),
    )
]
OTHERS: Final = [
    "&resourceVersion=99999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "&resourceVersion=99999999&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
    "&resourceVersion=18446744073709551616",
    "&resourceVersion=9223372036854775808",
    "&continue=abc",
    "&limit=x",
    "&limit=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "&pretty=true",
    *(
        f"&fieldSelector={text}"
        for text in (
            "metadata.name%3Da,metadata.name%3Db",
            "metadata.name!%3Da",
            "metadata.namespace%3Dkube-system",
            "metadata.namespace%3D",
            "spec.a%3D1,spec.a%3D2",
            "spec.a%3D",
            "spec.a%3D%3D1",
            "spec.a!%3D1",
            ",",
        )
    ),
    *(f"&labelSelector={text}" for text in ("t", "t+in+(x)", "t+notin+(x),t", "t%3E1", ",")),
]
PATHS: Final = [
    *(f"{NOTES}{tail}?watch=true" for tail in ("/a", "/none", "/a/status", "/a/scale")),
    *(
        f"{NOTES}/a?watch=1&{query}"
        for query in ("fieldSelector=metadata.name%3Db", "fieldSelector=metadata.name%3Da", "labelSelector=t%3Dy")
    ),
    *(f"{NOTES}?{watch}" for watch in ("watch=0", "watch=", "watch", "watch=TRUE", "watch=nonsense", "watch=true&watch=false")),
    *(f"{ROOT}/{path}?watch=true" for path in ("namespaces/missing/notes", "nothing", "watch/notes", "watch/nothing", "watch")),
    *(f"{ROOT}/watch/namespaces/default/notes/{name}?" for name in ("a", "none", "a/status")),
    f"{ROOT}/watch/notes?watch=false",
    f"{ROOT}/watch/notes?sendInitialEvents=true",
    f"{ROOT}/watch/notes?resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    f"/apis/{GROUP}/v9/notes?watch=true",
]
FORMS: Final = [
    *(
        "application/json",
        "application/yaml",
        "application/*",
        "text/html",
        "application/json;stream=watch",
        "application/json;stream=other",
    ),
    *(TABLE, TABLE.replace("=v1", "=v1beta1"), TABLE.replace("=v1", "=v2"), "application/json;as=Table", TABLE.replace("json", "yaml")),
    *(
        PARTIAL,
        PARTIAL.replace("=v1", "=v1beta1"),
        PARTIALS,
        f"{TABLE},application/json",
        "application/json;as=APIGroup;g=meta.k8s.io;v=v1",
    ),
]
LIST: Final = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def _watch(query: str = "", *, path: str = NOTES, seconds: int = 2, form: str = "") -> Step:
    return Step("GET", f"{path}?watch=true&timeoutSeconds={seconds}{query}", headers={"Accept": form} if form else {})


def _found(pair: Pair, watches: list[Step], steps: list[Step]) -> list[str]:
    """Return the differences of watches of two Notes while steps run."""
    with pair.served(crd("notes", "Note")):
        found = [line for step in FIRST for line in pair.differences(step)]
        return found + differences(pair, watches, steps)


def test_options(pair: Pair) -> None:
    """Accept and refuse combinations of options with equal messages."""
    assert_none(_found(pair, [_watch(query) for query in OPTIONS + OTHERS], []))


def test_bookmark_before_the_end(pair: Pair) -> None:
    """Send a bookmark before the end of a watch that does not see a change."""
    watch = _watch("&allowWatchBookmarks=true&labelSelector=t%3Dz", seconds=WINDOW)
    with pair.served(crd("notes", "Note")):
        assert not [line for step in FIRST for line in pair.differences(step)]
        theirs, ours = Watching(pair.reference, watch), Watching(pair.ours, watch)
        assert not pair.differences(Step("PATCH", f"{NOTES}/a", {"spec": {"a": "9"}}))
        one, other = theirs.end(), ours.end()

    assert one.bookmarks
    assert one == other


def test_paths(pair: Pair) -> None:
    """Watch at the same paths, and answer other methods there alike."""
    methods = [
        Step(method, f"{path}&timeoutSeconds=1&dryRun=All", {} if method in {"POST", "PUT", "PATCH"} else None)
        for method in ("HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
        for path in (f"{NOTES}?watch=true", f"{NOTES}/a?watch=true")
    ]
    methods += [Step(method, f"{ROOT}/watch/namespaces/default/notes/zz?timeoutSeconds=1") for method in ("HEAD", "DELETE")]
    assert_none(_found(pair, [Step("GET", f"{path}&timeoutSeconds=2") for path in PATHS], methods))


def test_forms(pair: Pair) -> None:
    """Send events in every media type, with and without initial events."""
    changes = [Step("PATCH", f"{NOTES}/a", {"spec": {"a": "9"}}), Step("DELETE", f"{NOTES}/a"), Step("DELETE", f"{NOTES}/b")]
    watches = [_watch(query, seconds=WINDOW, form=form) for form in FORMS for query in ("", LIST)]
    watches += [_watch(f"&includeObject={include}", seconds=WINDOW, form=TABLE) for include in ("None", "Metadata", "Object", "", "x")]
    assert_none(_found(pair, watches, changes))


@pytest.mark.parametrize("change", ["labels", "columns", "unserved"])
def test_definition_changes(pair: Pair, change: str) -> None:
    """End the watches of every version after a change of what is served, and after no other change."""
    served = crd("notes", "Note")
    served["spec"]["versions"].append(served["spec"]["versions"][0] | {"name": "v2", "storage": False})
    columns = [{"name": "A", "type": "string", "jsonPath": ".spec.a"}]
    changes = {
        "labels": Step("PATCH", ONE, {"metadata": {"labels": {"a": "b"}}}),
        "columns": Step("PATCH", ONE, [{"op": "add", "path": "/spec/versions/0/additionalPrinterColumns", "value": columns}], JSON_PATCH),
        "unserved": Step("PATCH", ONE, [{"op": "replace", "path": "/spec/versions/1/served", "value": False}], JSON_PATCH),
    }
    seconds = 2 if change == "labels" else 60
    other = f"/apis/{GROUP}/v2/notes"
    watches = [_watch(seconds=seconds), _watch(path=other, seconds=seconds), _watch(seconds=seconds, form=TABLE)]
    with pair.served(served):
        found = [line for step in FIRST for line in pair.differences(step)]
        found += differences(pair, watches, [changes[change]])
        found += pair.differences(Step("GET", f"{NOTES}/a", headers={"Accept": TABLE}, retry=True))
        found += pair.differences(Step("GET", other, retry=True))

    assert_none(found)
