"""Tests of the estimated work of requests."""

import pytest

from apiext.api.flowcontrol.configuration.classifier import Classification
from apiext.api.flowcontrol.configuration.flow_schema import Distinguisher, FlowSchema
from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel, QueuingConfiguration
from apiext.api.flowcontrol.controller import Controller
from apiext.api.flowcontrol.work_estimate import ONE_SEAT, WorkEstimate
from apiext.api.flowcontrol.work_estimator import ObjectStats, WatchTracker, WorkEstimator
from apiext.base.meta.request import RequestInfo
from tests.unit.api.flowcontrol.fake_clock import FakeClock

LEVEL = PriorityLevel(name="level", nominal_concurrency_shares=1)
SCHEMA = FlowSchema(name="all", priority_level="level", precedence=1, distinguisher=Distinguisher.NONE, rules=())
FROM_STORE = {"resourceVersionMatch": "Exact", "resourceVersion": "5"}
SELECTOR = {"labelSelector": "a=b"}


def info(verb: str, *, name: str = "", is_resource: bool = True) -> RequestInfo:
    """Return a request for a resource."""
    return RequestInfo(is_resource=is_resource, verb=verb, group="example.com", resource="widgets", namespace="default", name=name)


def estimate(
    request: RequestInfo,
    query: dict[str, str] | None = None,
    *,
    objects: ObjectStats | None = None,
    watches: int = 0,
    level: PriorityLevel = LEVEL,
    seats: int = 600,
) -> WorkEstimate:
    """Return the estimate of a request."""
    controller, tracker = Controller(seats=seats, clock=FakeClock()), WatchTracker()
    controller.configure({"level": level})
    for _ in range(watches):
        tracker.add(info("watch"))
    estimator = WorkEstimator(controller, objects=lambda *_: objects, watches=tracker)
    return estimator.estimate(request, query or {}, Classification(SCHEMA, level, "", {}))


@pytest.mark.parametrize(
    "count, average, query, seats",
    [
        (100, 1_000, FROM_STORE, 1),
        (99, 1_000, {}, 1),
        (1000, 1_000, FROM_STORE, 10),
        (1000, 1_000, FROM_STORE | {"limit": "100"}, 1),
        (1000, 1_000, FROM_STORE | {"limit": "100"} | SELECTOR, 5),
        (1000, 1_000, {}, 10),
        (1000, 1_000, {"limit": "100"} | SELECTOR, 1),
        (99, 10_000, FROM_STORE, 10),
        (99, 10_000, FROM_STORE | {"limit": "10"} | SELECTOR, 5),
        (1000, 10_000, FROM_STORE, 100),
        (1000, 10_000, {"limit": "100"}, 10),
        (1000, 10_000, {}, 10),
        (0, 0, {}, 1),
        (1, 0, FROM_STORE, 15),
        (1_000_000_000, 1_500_000, FROM_STORE, 100),
    ],
)
def test_lists(count: int, average: int, query: dict[str, str], seats: int) -> None:
    """Estimate a seat for 100 kB that a list holds in memory."""
    assert estimate(info("list"), query, objects=ObjectStats(count, average)) == WorkEstimate(seats)


@pytest.mark.parametrize(
    "query, cached",
    [
        ({}, True),
        ({"resourceVersion": "0"}, True),
        ({"resourceVersion": "0", "limit": "1000"}, True),
        ({"resourceVersion": "7"}, True),
        ({"resourceVersion": "7", "resourceVersionMatch": "NotOlderThan", "limit": "1000"}, True),
        ({"resourceVersion": "7", "limit": "1000"}, False),
        ({"continue": "token"}, False),
        ({"resourceVersion": "7", "resourceVersionMatch": "Exact"}, False),
        ({"resourceVersion": "7", "resourceVersionMatch": "Other"}, False),
    ],
)
def test_lists_from_the_cache(query: dict[str, str], *, cached: bool) -> None:
    """Limit the work of lists that the cache serves."""
    assert estimate(info("list"), query, objects=ObjectStats(1000, 10_000)).seats == (10 if cached else 100)


def test_other_lists() -> None:
    """Estimate one seat for a single object and for unknown resources, and the maximum for a query that will fail."""
    objects = ObjectStats(1000, 1000)

    assert estimate(info("list", name="one"), objects=objects) is ONE_SEAT
    assert estimate(info("list")) is ONE_SEAT
    assert estimate(info("list"), {"limit": "many"}, objects=objects).seats == 100
    assert estimate(info("list", is_resource=False), objects=objects) is ONE_SEAT


@pytest.mark.parametrize(
    "query, seats",
    [
        ({}, 10),
        ({"resourceVersion": "0"}, 10),
        ({"resourceVersion": "5"}, 1),
        ({"resourceVersion": "5", "sendInitialEvents": "true"}, 10),
        ({"resourceVersion": "5", "sendInitialEvents": "false"}, 1),
    ],
)
def test_watches(query: dict[str, str], seats: int) -> None:
    """Estimate a watch as a list if it begins with the existing objects."""
    assert estimate(info("watch"), query, objects=ObjectStats(1000, 10_000)).seats == seats


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete"])
@pytest.mark.parametrize(
    "watches, final_seats, latency",
    [(0, 0, 0), (9, 0, 0), (10, 1, 5_000_000), (25, 3, 5_000_000), (100, 10, 5_000_000), (199, 10, 10_000_000)],
)
def test_writes(verb: str, watches: int, final_seats: int, latency: int) -> None:
    """Estimate a seat for 5 ms for each ten watches that get the event; more than ten seats become a longer time."""
    assert estimate(info(verb, name="one"), watches=watches) == WorkEstimate(1, final_seats, latency)


def test_other_requests() -> None:
    """Estimate one seat for the rest."""
    assert estimate(info("get", name="one"), objects=ObjectStats(10**9, 10**6), watches=100) is ONE_SEAT
    assert estimate(info("deletecollection"), objects=ObjectStats(10**9, 10**6), watches=100) is ONE_SEAT


def test_the_seats_of_a_level_limit_the_estimate() -> None:
    """Estimate no more seats than a part of those of the level."""
    level = PriorityLevel(name="level", nominal_concurrency_shares=1, queuing=QueuingConfiguration(8, 4, 50))

    assert estimate(info("list"), FROM_STORE, objects=ObjectStats(1000, 10_000), level=level, seats=20).seats == 3
    assert estimate(info("update"), watches=100, level=level, seats=20) == WorkEstimate(1, 3, 555_553)
    assert estimate(info("update"), watches=100, level=level, seats=1) == WorkEstimate(1, 1, 83_330)


def test_fewer_seats_are_free_sooner() -> None:
    """Let an event occupy the same part of a server that has fewer seats than the reference, and no smaller part of one with more."""
    assert estimate(info("update"), watches=10, seats=150) == WorkEstimate(1, 1, 1_250_000)
    assert estimate(info("update"), watches=10, seats=1200) == WorkEstimate(1, 1, 5_000_000)
