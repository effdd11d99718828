"""Takeovers, handovers, replacements and deletions in any order, compared with what manifests/README.md promises."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apiext.base.meta import host_annotations
from apiext.operator.adoption.host_etcd import HostStore
from apiext.operator.group_state import is_held
from apiext.operator.ownership import service_of
from apiext.storage.etcd.config import EtcdConfig
from tests.unit.operator.adoption.living_world import PLURALS, Action, LivingWorld
from tests.unit.operator.adoption.world import GROUP, POLICIES
from tests.unit.operator.parts import TARGET

ACTION = st.tuples(
    st.sampled_from(("label", "label", "hand_over", "create", "replace", "delete", "write", "write", "change", "strip", "unguard")),
    st.sampled_from(PLURALS),
    st.booleans(),
)
OTHERS = ACTION.filter(lambda action: action[0] != "create")
"""Actions while the operator acts: it does not know a definition that is created between two of its calls."""
MEANWHILE = st.dictionaries(st.integers(1, 90), st.lists(OTHERS, min_size=1, max_size=2), max_size=3)
STEP = st.tuples(st.lists(ACTION, max_size=3), st.none() | st.tuples(MEANWHILE, st.just(0) | st.integers(1, 90)))
"""Actions; then the operator acts or not, with actions of others at its calls, until it ends at a call, if that is not 0."""
Step = tuple[Sequence[Action], tuple[Mapping[int, Sequence[Action]], int] | None]
BOTH: Final = [("label", plural, True) for plural in PLURALS]
GONE: Final = ("delete", "widgets", True)
GIVEN_BACK: Final = ("hand_over", "widgets", True)
ENDING: Final = [("write", "widgets", True), GONE]
STRIPPED: Final = [("strip", "widgets", True)]
ALONE: Final[tuple[dict[int, Sequence[Action]], int]] = ({}, 0)


@pytest.fixture(autouse=True, scope="module")
def _at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in (
            "takeover.SETTLE_SECONDS",
            "takeover.HELD_SETTLE_SECONDS",
            "handover.CLIENT_RESTART_SECONDS",
            "polling.TIMEOUT_SECONDS",
            "transition.CHECK_SECONDS",
        ):
            patch.setattr(f"apiext.operator.adoption.{name}", 0.0)
        yield


@asynccontextmanager
async def living_world(*, etcd: bool, pace: int) -> AsyncIterator[LivingWorld]:
    """Provide a world in which the operator has started; with or without access to the host's etcd."""
    world = LivingWorld(etcd=etcd, pace=pace)

    @asynccontextmanager
    async def opened(_etcd: EtcdConfig, _encryption: Path | None = None) -> AsyncIterator[HostStore]:
        yield HostStore(world.backend, "/registry")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostStore, "open", opened)
        await world.start()
        yield world


@example(etcd=False, pace=1, steps=[([*BOTH, ("write", "widgets", True)], ALONE), ([("replace", "widgets", False)], ALONE)])
@example(etcd=True, pace=1, steps=[([*BOTH, *ENDING], ALONE), ([("replace", "gadgets", False)], None)]).via("deletion before a hand-over")
@example(etcd=True, pace=1, steps=[([*BOTH, ("write", "widgets", True)], ALONE), ([GIVEN_BACK], ({15: [GONE]}, 21))]).via(
    "deletion during a hand-over"
)
@example(etcd=True, pace=1, steps=[([*ENDING, *BOTH], ALONE), ([], ({14: [("delete", "gadgets", True)]}, 0))]).via("deletion by the host")
@example(etcd=False, pace=1, steps=[(BOTH, ({13: [GONE]}, 38)), ([("create", "widgets", False), ("replace", "gadgets", True)], None)]).via(
    "freeze"
)
@example(
    etcd=True, pace=1, steps=[([*BOTH, ("write", "widgets", True)], ALONE), ([*STRIPPED, ("unguard", "widgets", True), GONE], None)]
).via("policy")
@settings(max_examples=150)
@given(etcd=st.booleans(), pace=st.sampled_from((1, 1, 6, 40)), steps=st.lists(STEP, max_size=10))
async def test_keeps_its_promises_in_any_order(etcd: bool, pace: int, steps: list[Step]) -> None:  # noqa: FBT001
    """Show clients their objects and no others at any moment, and come to the promised state when nothing changes any more."""
    async with living_world(etcd=etcd, pace=pace) as world:
        for actions, operates in steps:
            for action in actions:
                world.act(*action)
            if operates is not None:
                await world.operate(*operates)
        await world.settle()
        assert_promised(world)
        for _ in range(len(world.held)):
            for plural in PLURALS:
                if not world.has_crd(plural) or world.crd(plural)["metadata"].get("deletionTimestamp"):
                    world.act("strip", plural, False)
        await world.settle()
        assert_promised(world)
        assert_ended(world)


def assert_promised(world: LivingWorld) -> None:
    """Assert that one server serves all live definitions, as they ask for, and says so."""
    names = world.names()
    live = [plural for plural in names if not world.crd(plural)["metadata"].get("deletionTimestamp")]
    wanted = bool(live) and all(is_wanted(world, plural) for plural in live)
    adopted = [plural for plural in live if world.phase(plural) not in {None, host_annotations.IMPORTING}]
    if wanted and (adopted or names == live):
        assert adopted == live, world.summary()
    for plural in adopted:
        assert world.phase(plural) == host_annotations.SERVING
        assert is_held(world.crd(plural)), world.summary()
        assert service_of(world.crd(plural)) == str(TARGET.service)
        assert world.reason(plural) == ("True", "Serving" if wanted else "HandOverBlocked"), world.summary()
    ending = [plural for plural in names if plural not in live and world.phase(plural)]
    if adopted:
        assert wanted or ending or world.host_etcd is None
        assert world.routed == {"v1": True}, world.summary()
        assert world.denies_writes
    for plural in set(live) - set(adopted):
        assert not is_held(world.crd(plural)) or is_wanted(world, plural) or ending, world.summary()
        reasons = ["HandedOver", *(["Blocked"] if is_wanted(world, plural) or adopted or ending else [])]
        assert world.reason(plural) in [("", ""), *(("False", reason) for reason in reasons)], world.summary()
    if live and not adopted and not ending:
        assert not world.routed.get("v1"), world.summary()
        assert not world.under(POLICIES), world.summary()
    for plural in adopted or (live if not ending else ()):
        shown = world.visible(plural)
        assert shown is not None, world.summary()
        assert shown.keys() == {key for (of, key), found in world.held.items() if of == plural and not found["doomed"]}


def is_wanted(world: LivingWorld, plural: str) -> bool:
    """Return whether a definition has the label, and not the annotation."""
    metadata = world.crd(plural)["metadata"]
    is_selected = (metadata.get("labels") or {}).get(host_annotations.SERVE_LABEL) == host_annotations.SERVE_VALUE
    return is_selected and not host_annotations.wants_hand_over(metadata.get("annotations") or {})


def assert_ended(world: LivingWorld) -> None:
    """Assert that nothing is left of deleted definitions, after the finalizers of their objects were removed."""
    live = [plural for plural in world.names() if not world.crd(plural)["metadata"].get("deletionTimestamp")]
    assert world.names() == live, world.summary()
    assert {name.partition(".")[0] for name in world.mirrors} <= set(live)
    assert [key for key, found in world.held.items() if found["finalizers"] and found["doomed"]] == []
    for plural in set(PLURALS) - set(live):
        assert (world.on_host(plural), world.objects[f"{plural}.{GROUP}"]) == ({}, {})
    if not live:
        assert world.routed == {}
        assert not world.under(POLICIES)
