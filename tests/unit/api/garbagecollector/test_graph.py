"""The graph after any changes, compared with a graph of the last states alone."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiext.api.garbagecollector.graph import Graph, OwnerState
from apiext.storage.stored_bytes.object_links import Links, OwnerReference, links_of, may_matter
from tests.unit.api.garbagecollector.kinds import PLANS, THINGS, Kinds, owner, thing

NAMES = ("x", "y", "z")
UIDS = ("1", "2", "3")
KEYS = [f"{THINGS}{namespace}/{name}" for namespace in ("a", "b") for name in NAMES] + [f"{PLANS}{name}" for name in NAMES]
REFERENCES = st.builds(
    OwnerReference,
    st.sampled_from(("v1", "v1", "v1", "v2")),
    st.sampled_from(("Thing", "Plan", "Other")),
    st.sampled_from(NAMES),
    st.sampled_from(UIDS),
    blocks=st.booleans(),
)
CHANGES = st.tuples(
    st.sampled_from(KEYS),
    st.none()
    | st.tuples(
        st.sampled_from(UIDS),
        st.lists(REFERENCES, max_size=3),
        st.lists(st.sampled_from(("orphan", "foregroundDeletion", "other")), max_size=2),
        st.booleans(),
    ),
)


class Watched:
    """A graph whose orders are recorded; owners are looked up among the present objects."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self.objects: dict[str, Links] = {}
        self.attempts: list[str] = []
        self.checks: list[str] = []
        self.graph = Graph(self.kinds.locate, self.attempts.append, self.checks.append)

    def change(self, key: str, state: tuple[str, Sequence[OwnerReference], Sequence[str], bool] | None) -> None:
        """Put or remove an object, and do what the collector does with owners."""
        if state is None:
            self.objects.pop(key, None)
            self.graph.remove(key)
        else:
            uid, references, finalizers, terminating = state
            namespace = key.removeprefix(THINGS).partition("/")[0] if key.startswith(THINGS) else ""
            self.objects[key] = Links(uid, namespace, tuple(references), tuple(finalizers), terminating)
            self.graph.put(key, self.objects[key])
        self.look_up()

    def look_up(self) -> None:
        """Look up owners that are not known, and attempt dependents of those that are gone or wait."""
        for name in self.checks:
            found = self.graph.owners.get(name)
            if found is None:
                continue
            if found.state is OwnerState.UNKNOWN and found.key:
                links = self.objects.get(found.key)
                if links is None:
                    self.graph.set_absent(found)
                else:
                    self.graph.set_found(found, links)
            if found.concerns_dependents:
                self.attempts.extend(node.key for node in found.dependents)
        self.checks.clear()

    def state(self) -> dict[str, Any]:
        """Return the whole graph as plain values."""
        graph = self.graph
        return {
            "nodes": {
                key: (node.uid, sorted(one.id for one in node.owners), node.is_terminating, node.orphans, node.waits_for_dependents)
                for key, node in graph.nodes.items()
            },
            "owners": {
                name: (one.state, one.key, sorted((node.key, blocks) for node, blocks in one.dependents.items()))
                for name, one in graph.owners.items()
            },
            "concerned": [key for key in KEYS if graph.concerns(key)],
            "blocked": [uid for uid in UIDS if graph.is_blocked(uid)],
            "dependents": {uid: sorted(node.key for node in graph.dependents(uid)) for uid in UIDS},
        }


def _bad(graph: Graph) -> dict[str, list[str]]:
    """Return the ids of owners that are gone or wait, by the key of their dependents."""
    return {key: bad for key, node in graph.nodes.items() if (bad := [one.id for one in node.owners if one.concerns_dependents])}


@given(st.lists(CHANGES, max_size=25))
def test_agrees_with_a_new_graph(changes: list[Any]) -> None:
    """Have the same nodes, owners and states as a graph of the last states, whatever happened before."""
    watched, fresh = Watched(), Watched()

    for change in changes:
        watched.change(*change)
    fresh.objects = watched.objects
    for key, links in watched.objects.items():
        fresh.graph.put(key, links)
    fresh.look_up()

    assert watched.state() == fresh.state()


@given(st.lists(CHANGES, max_size=25))
def test_orders_every_attempt(changes: list[Any]) -> None:
    """Order an attempt at each object with an owner that is gone or waits, and at each that orphans or waits and is not held any more."""
    watched = Watched()
    graph = watched.graph
    for change in changes:
        before, blocked = _bad(graph), {key for key, node in graph.nodes.items() if _is_held(graph, node)}
        watched.attempts.clear()
        watched.change(*change)
        for key, bad in _bad(graph).items():
            assert set(bad) <= set(before.get(key, ())) or key in watched.attempts
        for key, node in graph.nodes.items():
            if node.orphans or (node.waits_for_dependents and not _is_held(graph, node) and key in blocked):
                assert key in watched.attempts or key in before or key != change[0] or not node.waits_for_dependents


def _is_held(graph: Graph, node: Any) -> bool:
    return node.waits_for_dependents and graph.is_blocked(node.uid)


def test_keeps_nothing_of_plain_objects() -> None:
    """Have no node for objects without owners, also while they are deleted for other reasons."""
    watched = Watched()

    for key in KEYS:
        watched.change(key, ("1", (), ("other",), True))

    assert not watched.graph.nodes
    assert not any(watched.graph.concerns(key) for key in KEYS)


def test_forgets_with_the_last_dependent() -> None:
    """Have nothing left when all dependents are gone."""
    watched = Watched()
    for number, key in enumerate(KEYS):
        watched.change(key, (str(number), [OwnerReference("v1", "Thing", "x", "1", True), OwnerReference("v9", "No", "x", "1")], (), False))

    for key in KEYS:
        watched.change(key, None)

    assert [kept for kept in vars(watched.graph).values() if isinstance(kept, dict) and kept] == []


def test_locates_kinds_later() -> None:
    """Look up the owners of a kind once it is served."""
    watched = Watched()
    watched.change(KEYS[0], ("1", [OwnerReference("v2", "Late", "y", "2")], (), False))
    watched.kinds.places["v2", "Late"] = watched.kinds.places["v1", "Thing"]

    watched.graph.locate_again("v2", "Late")
    watched.look_up()

    assert set(watched.attempts) == {KEYS[0]}


def test_a_cluster_scoped_object_has_no_namespaced_owner() -> None:
    """Never delete a cluster-scoped object for a namespaced owner."""
    watched = Watched()

    watched.change(f"{PLANS}x", ("1", [OwnerReference("v1", "Thing", "y", "2")], (), False))

    assert [one.state for one in watched.graph.owners.values()] == [OwnerState.INVALID]
    assert watched.attempts == []


def test_reads_stored_objects() -> None:
    """Read owners and finalizers of stored bytes; skip what is malformed."""
    value = thing("1", owner("2", blocks=True), {"uid": 3}, owner("4"), deleting=True, finalizers=("orphan",))

    links = links_of(value)

    assert may_matter(value)
    assert links == Links(
        "1", "a", (OwnerReference("v1", "Thing", "2", "2", True), OwnerReference("v1", "Thing", "4", "4")), ("orphan",), True
    )
    assert links.orphans
    assert not links.waits_for_dependents
    assert not may_matter(thing("1", finalizers=("orphan",)))
    assert [links_of(bad) for bad in (b"", b"{", b"[]", b'{"metadata":[]}', b"k8s:enc:aescbc:v1:a:", b"k8s\0")] == [None] * 6
