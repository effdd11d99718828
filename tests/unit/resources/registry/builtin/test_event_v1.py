"""Events in the form of events.k8s.io/v1."""

from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.registry.builtin.events import EVENT_KIND, EVENT_V1_KIND
from apiext.resources.registry.request_context import RequestContext

CONTEXT = RequestContext()


def _event(**members: Any) -> dict[str, Any]:
    obj = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "n"},
        "eventTime": "2020-01-01T00:00:00.000001Z",
        "reportingController": "c",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        "regarding": {"kind": "Thing", "namespace": "n"},
    } | members
    EVENT_V1_KIND.codec().decode_body(obj, False)
    return obj


def test_stores_the_form_of_the_core_group() -> None:
    """Store an event as one of the core group, which both forms read."""
    event = _event(note="m", deprecatedCount=3, deprecatedSource={"component": "c"})
    stored = EVENT_V1_KIND.codec().encode(event).stored
    core = EVENT_KIND.codec().decode(stored)

    assert json_codec.loads(stored)["apiVersion"] == "v1"
    assert (core["message"], core["count"], core["source"], core["involvedObject"]["kind"]) == ("m", 3, {"component": "c"}, "Thing")
    assert EVENT_V1_KIND.codec().decode(stored) == event


def test_selectable_fields() -> None:
    """Name the fields as this form does."""
    fields = EVENT_V1_KIND.codec().fields(_event())

    assert (fields["regarding.kind"], fields["reportingController"], fields["reason"]) == ("Thing", "c", "r")


@pytest.mark.parametrize(
    "members, fields",
    [
        ({}, []),
        ({"eventTime": None}, ["eventTime"]),
        ({"type": "Odd", "deprecatedCount": 1}, ["type", "count"]),
        ({"series": {"count": 1}}, ["series.count", "series.lastObservedTime"]),
        ({"reason": ""}, ["reason"]),
    ],
)
def test_validates_new_events(members: dict[str, Any], fields: list[str]) -> None:
    """Require a time and a known type, and none of the older form's fields."""
    assert [error.field for error in EVENT_V1_KIND.strategy.validate(CONTEXT, _event(**members))] == fields


def test_only_the_series_changes() -> None:
    """Reject changes of what happened; messages show the fields of the reference's internal type."""
    series = {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}
    strategy = EVENT_V1_KIND.strategy
    errors = strategy.validate_update(CONTEXT, _event(note="x", deprecatedSource={"host": "h"}), _event(), [])

    assert strategy.validate_update(CONTEXT, _event(series=series), _event(), []) == []
    assert list(map(str, errors)) == [
        'message: Invalid value: "x": field is immutable',
        'source: Invalid value: {"Component":"","Host":"h"}: field is immutable',
    ]
