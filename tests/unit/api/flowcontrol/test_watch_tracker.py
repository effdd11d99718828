"""Tests of counting watches."""

import pytest

from apiext.api.flowcontrol.work_estimator import WatchTracker
from apiext.base.meta.request import RequestInfo


def info(verb: str, *, group: str = "example.com", resource: str = "widgets", namespace: str = "", name: str = "") -> RequestInfo:
    """Return a request for a resource."""
    return RequestInfo(is_resource=True, verb=verb, group=group, resource=resource, namespace=namespace, name=name)


WATCHES = [
    info("watch"),
    info("watch"),
    info("watch", namespace="foo"),
    info("watch", namespace="foo", name="mine"),
    info("watch", namespace="bar"),
    info("watch", name="cluster-scoped"),
    info("watch", group="other.example.com"),
]


@pytest.mark.parametrize(
    "request_info, expected",
    [
        (info("create"), 2),
        (info("create", namespace="foo"), 3),
        (info("update", namespace="foo", name="mine"), 4),
        (info("update", namespace="foo", name="other"), 3),
        (info("delete", namespace="baz", name="mine"), 2),
        (info("patch", name="cluster-scoped"), 3),
        (info("create", group="other.example.com"), 1),
        (info("create", resource="gadgets"), 0),
    ],
)
def test_interested_watches(request_info: RequestInfo, expected: int) -> None:
    """Count the watches of all objects, of the namespace and of the object."""
    tracker = WatchTracker()
    for watch in WATCHES:
        tracker.add(watch)

    assert tracker.interested(request_info) == expected


def test_ended_watches_do_not_count() -> None:
    """Forget watches that have ended."""
    tracker = WatchTracker()
    for watch in WATCHES:
        tracker.add(watch)
    for watch in WATCHES[1:]:
        tracker.remove(watch)

    assert tracker.interested(info("update", namespace="foo", name="mine")) == 1
    tracker.remove(WATCHES[0])
    assert tracker.interested(info("update", namespace="foo", name="mine")) == 0
