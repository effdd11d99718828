"""Tests of shard selectors on both servers, with the feature gate ShardedListAndWatch and without it."""

import http.client
import itertools
import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final
from urllib.parse import quote, urlsplit

import pytest

from apiext.base.meta.objectmeta.sharding import shard_hash
from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.differential.cases.deletion_steps import ELSEWHERE, EVERYWHERE, NOTES, PARTIALS, TABLE, crd, note
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.watching import differences

pytestmark = pytest.mark.slow

GATE: Final = "--feature-gates=ShardedListAndWatch=true"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LISTING: Final = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
UID: Final = "object.metadata.uid"
NAMESPACE: Final = "object.metadata.namespace"
END: Final = 2**64
LOW: Final = "'0x0000000000000000'"
MIDDLE: Final = "'0x8000000000000000'"


def _shard(first: int = 0, end: int = END, field: str = UID) -> str:
    return f"shardRange({field}, '0x{first:016x}', '0x{end:016x}')"


_OPEN: Final = "apiserver_watch_shards_total"
_FILTERED: Final = "apiserver_watch_filtered_events_total"
_DEFAULT: Final = shard_hash("default")
ALL: Final = _shard()
NONE: Final = _shard(end=1)
HALVES: Final = f"{_shard(0, END // 2)} || ({_shard(END // 2)})"
OF_DEFAULT: Final = _shard(_DEFAULT, _DEFAULT + 1, NAMESPACE)
OF_OTHERS: Final = f"{_shard(0, _DEFAULT, NAMESPACE)}||{_shard(_DEFAULT + 1, END, NAMESPACE)}"
SELECTORS: Final = (ALL, NONE, HALVES, OF_DEFAULT, OF_OTHERS)
MALFORMED: Final = [
    *(" ", "x", "1", "'a'", "true", "null", "1.5", "1u", "-1", "[1]", "{}", "x{a: 1}", UID, "foo(1)", "a ? b : c", "has(a.b)", "!a"),
    *("[1].all(x, true)", f"!{ALL}", f"{ALL} && {ALL}", f"{ALL} || x", f"x || {ALL}", f"{ALL} || foo()", f".{ALL}"),
    *(f"shardRange({arguments})" for arguments in ("", "1", f"{UID}, {LOW}", f"{UID}, {LOW}, {MIDDLE}, 1")),
    *(f"shardRange({field}, {LOW}, {MIDDLE})" for field in ("'a'", "object['metadata'].uid", "a", "object.metadata", "has(a.b)", "-1")),
    *(f"shardRange({field}, {LOW}, {MIDDLE})" for field in ("object.metadata.name", f".{UID}", "metadata.uid", "[1]", "a.b().c")),
    *(f"shardRange({UID}, {start}, {MIDDLE})" for start in ("1", "null", "true", "2u", "1.5", "b'0x0'", "-1", "a", f"{LOW} + ''")),
    *(f"shardRange({UID}, '{start}', {MIDDLE})" for start in ("", "0", "0X1", "0x", "0x1", "0xg", "0xé", "0xA", "0x" + "1" * 17)),
    *(f"shardRange({UID}, {LOW}, '{end}')" for end in ("0x" + "1" * 18, "0x" + "é" * 9, "0x2" + "0" * 16, "0x", "0xff")),
    *(_shard(*bounds) for bounds in ((5, 5), (6, 5), (END, END))),
    *(f"{ALL} || {OF_DEFAULT}", f"{OF_DEFAULT} || {NONE} || {ALL}"),
]
SPELLINGS: Final = [
    f'shardRange({UID}, "0x0000000000000000", """0x10000000000000000""")',
    f"  object.shardRange({UID}, {LOW}, r'0x10000000000000000') // a comment",
    "shardRange(object.metadata.`uid`, '0x000000000000000\\x30', '0x10000000000000000')",
    f"(({ALL}) || ({NONE} || {ALL})) || {ALL}",
]
BROKEN: Final = ["shardRange(", "'a", "a b", "shardRange(object.metadata.?uid, 1, 2)", "if", "$", "(" * 300]


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both servers with the gate."""
    folder = tmp_path_factory.mktemp("shards")
    with (
        ControlPlane(folder / "reference", durable=False, extra_args=[GATE]) as plane,
        BareServer(folder / "apiext", extra_args=[GATE]) as server,
        closing(Pair(plane, server)) as both,
    ):
        yield both


@pytest.fixture(scope="module")
def notes(gated: Pair) -> Iterator[Pair]:
    """Serve Notes in two namespaces, and store ConfigMaps."""
    steps = [
        *(Step("POST", NOTES, note(name, labels={"odd": str(place % 2)})) for place, name in enumerate("abcdef")),
        *(Step("POST", ELSEWHERE, note(name)) for name in "gh"),
        *(Step("POST", CONFIG_MAPS, {"metadata": {"name": name}}) for name in "ab"),
    ]
    with gated.served(crd("notes", "Note")):
        assert_none([line for step in steps for line in gated.differences(step)])
        yield gated


def _ask(path: str, selector: str, query: str = "", method: str = "GET", **headers: str) -> Step:
    return Step(method, f"{path}?shardSelector={quote(selector)}{query}", headers=headers)


def _assert_equal(pair: Pair, steps: list[Step]) -> None:
    assert_none([line for step in steps for line in pair.differences(step)])


def test_selectors(notes: Pair) -> None:
    """Select and refuse alike: whatever is written, in lists and in watches."""
    _assert_equal(
        notes,
        [
            *(_ask(CONFIG_MAPS, selector) for selector in (*SELECTORS, *SPELLINGS, *MALFORMED)),
            *(_ask(EVERYWHERE, selector) for selector in (*SELECTORS, *MALFORMED[:3])),
            *(_ask(EVERYWHERE, selector, "&watch=true&timeoutSeconds=1") for selector in MALFORMED[-3:]),
            _ask(f"{NOTES}/a", "x"),
            Step("GET", f"{NOTES}?shardSelector={quote(NONE)}&shardSelector=x"),
            Step("GET", f"{NOTES}?shardSelector="),
        ],
    )
    for selector in BROKEN:
        for side in (notes.reference, notes.ours):
            answer = side.ask(_ask(NOTES, selector))
            assert (answer.code, answer.body.get("reason")) == (500, None)
            assert answer.body["message"].startswith("invalid shard selector: CEL parse error: ")


def test_lists(notes: Pair) -> None:
    """Combine a shard with every other option of a list, in every form."""
    options = [
        "",
        "&limit=1",
        "&limit=1&resourceVersion=0",
        "&limit=6",
        "&limit=100",
        "&labelSelector=odd%3D1",
        "&labelSelector=odd&limit=2",
    ]
    options += ["&fieldSelector=metadata.name%3Db", "&fieldSelector=metadata.namespace%3Dkube-system", "&fieldSelector=metadata.name!%3Da"]
    options += [f"&resourceVersion={{rv:{NOTES}/d}}&resourceVersionMatch=Exact", f"&resourceVersion={{rv:{NOTES}/d}}&limit=2"]
    options += [f"&resourceVersion={{rv:{NOTES}/d}}&resourceVersionMatch=NotOlderThan", "&resourceVersion=x"]
    options += ["&resourceVersionMatch=Exact", "&labelSelector=,,", "&limit=x", "&fieldSelector=x%3D1"]
    paths = (EVERYWHERE, NOTES, ELSEWHERE)
    _assert_equal(
        notes,
        [
            *(_ask(path, selector, query) for path in paths for selector in (ALL, NONE, OF_OTHERS) for query in options),
            *(_ask(NOTES, "x", query) for query in (*options, "&continue=x")),
            *(_ask(path, ALL, Accept=form) for path in (NOTES, CONFIG_MAPS, DEFINITIONS) for form in (TABLE, PARTIALS, "application/yaml")),
        ],
    )


def test_watches(notes: Pair) -> None:
    """Send the events of a shard, its initial events and bookmarks, and nothing of others; count these and the watches."""
    watches = [
        _ask(path, selector, f"&watch=true&timeoutSeconds=8{query}", **headers)
        for path, selector, query, headers in (
            (EVERYWHERE, ALL, "", {}),
            (EVERYWHERE, NONE, LISTING, {}),
            (EVERYWHERE, HALVES, f"&resourceVersion={{rv:{NOTES}/d}}&allowWatchBookmarks=true", {}),
            (EVERYWHERE, OF_DEFAULT, LISTING, {}),
            (EVERYWHERE, OF_OTHERS, f"&resourceVersion={{rv:{NOTES}/d}}", {}),
            (NOTES, f"{OF_OTHERS} || {OF_DEFAULT}", f"{LISTING}&labelSelector=odd", {"Accept": TABLE}),
            (NOTES, OF_OTHERS, LISTING, {}),
        )
    ]
    steps = [
        Step("POST", NOTES, note("x")),
        Step("PATCH", f"{NOTES}/x", {"metadata": {"labels": {"odd": "1"}}}),
        Step("POST", ELSEWHERE, note("y", labels={"odd": "1"})),
        Step("PATCH", f"{ELSEWHERE}/y", {"metadata": {"labels": None}}),
        Step("DELETE", f"{NOTES}/x"),
        Step("DELETE", f"{ELSEWHERE}/y"),
    ]
    before = [_metrics(side) for side in (notes.reference, notes.ours)]
    with closing(_open_watch(notes.ours, NONE)), closing(_open_watch(notes.reference, NONE)):
        assert_none(differences(notes, watches, steps))
        counts = [_metrics(side) for side in (notes.reference, notes.ours)]
    theirs, ours = ({name: after[name] - first[name] for name in after} for first, after in zip(before, counts, strict=True))

    assert ours[_FILTERED] == theirs[_FILTERED] > 0
    # the reference counts the end of a watch twice, so that its gauge falls below zero
    assert (ours[_OPEN], theirs[_OPEN]) == (1, 1 - len(watches))
    until(lambda: _metrics(notes.ours)[_OPEN] == before[1][_OPEN])


def _open_watch(side: Side, selector: str) -> http.client.HTTPSConnection:
    """Open a watch without initial events, which the server has begun."""
    revision = json.loads(side.raw(Step("GET", EVERYWHERE))[1])["metadata"]["resourceVersion"]
    connection = http.client.HTTPSConnection(urlsplit(side.url).netloc, timeout=60, context=side.context)
    connection.request("GET", _ask(EVERYWHERE, selector, f"&watch=true&resourceVersion={revision}").path)
    assert connection.getresponse().status == 200
    return connection


def _metrics(side: Side) -> dict[str, float]:
    """Return the metrics of watches of Notes with shards."""
    text = side.raw(Step("GET", "/metrics"))[1].decode()
    found = re.findall(r'^(\w+){group="(.*?)",resource="notes"} (\S+)$', text, re.MULTILINE)
    return {_OPEN: 0.0, _FILTERED: 0.0} | {name: float(value) for name, _, value in found if name in {_OPEN, _FILTERED}}


def test_shards_by_uid(notes: Pair) -> None:
    """List and watch each object in the shard of its uid, on pages too."""
    notes.at_once(_check_shards)


def _check_shards(side: Side) -> None:
    everything = _names(side, Step("GET", EVERYWHERE))
    bounds = list(itertools.pairwise(END * number // 3 for number in range(4)))
    shards = list(itertools.starmap(_shard, bounds))
    expected = [{name for name, uid in everything.items() if first <= shard_hash(uid) < end} for first, end in bounds]

    assert [set(_names(side, _ask(EVERYWHERE, shard))) for shard in shards] == expected
    assert [_paged(side, shard) for shard in shards] == expected
    assert [_watched(side, EVERYWHERE, shard) for shard in shards] == expected


def _names(side: Side, step: Step) -> dict[str, str]:
    """Return the uids of the listed objects by their names."""
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in json.loads(side.raw(step)[1])["items"]}


def _paged(side: Side, shard: str) -> set[str]:
    found: set[str] = set()
    token = ""
    while True:
        page: Any = json.loads(side.raw(_ask(EVERYWHERE, shard, f"&limit=1{token}"))[1])
        found |= {item["metadata"]["name"] for item in page["items"]}
        assert "remainingItemCount" not in page["metadata"]
        if not page["metadata"].get("continue"):
            return found
        token = f"&continue={page['metadata']['continue']}"


def _watched(side: Side, path: str, selector: str) -> set[str]:
    """Return the names of the initial events of a watch."""
    step = _ask(path, selector, f"&watch=true{LISTING}")
    with closing(http.client.HTTPSConnection(urlsplit(side.url).netloc, timeout=60, context=side.context)) as connection:
        connection.request("GET", step.path)
        events = map(json.loads, connection.getresponse())
        return {event["object"]["metadata"]["name"] for event in itertools.takewhile(lambda event: event["type"] == "ADDED", events)}


def test_deletes_a_shard(gated: Pair) -> None:
    """Delete the objects of a shard, and only these; the answer shows the shard as a list does."""
    steps = []
    for collection in ("/api/v1/namespaces/kube-public/configmaps", "/apis/coordination.k8s.io/v1/namespaces/kube-public/leases"):
        steps += [Step("POST", collection, {"metadata": {"name": name}}) for name in "ab"]
        for selector, query in (("x", ""), (NONE, ""), (OF_DEFAULT, ""), (ALL, "&dryRun=All"), (ALL, "&limit=1"), (OF_OTHERS, "")):
            steps += [_ask(collection, selector, query, "DELETE"), Step("GET", collection)]
    _assert_equal(gated, steps)


def test_without_the_gate(pair: Pair) -> None:
    """Ignore every shard selector."""
    own = "&fieldSelector=metadata.name%3Din-no-shard"  # other tests use these servers, too
    steps = [_ask(CONFIG_MAPS, selector, own + query) for selector in (NONE, "x", "(") for query in ("", "&limit=1")]
    created = Step("POST", CONFIG_MAPS, {"metadata": {"name": "in-no-shard"}})
    _assert_equal(pair, [created, *steps, _ask(DEFINITIONS, "x", own)])
    for side in (pair.reference, pair.ours):
        assert "in-no-shard" in _watched(side, CONFIG_MAPS, NONE)
    _assert_equal(pair, [Step("DELETE", f"{CONFIG_MAPS}/in-no-shard")])
