"""Events: their type and their rules."""

from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin.events import EVENT_KIND, event_errors
from apiext.resources.registry.request_context import CreateOptions, RequestContext, UpdateOptions
from apiext.resources.registry.rest import ResourceRest

CTX = RequestContext(namespace="default")
SEEN = {"eventTime": "2020-01-01T00:00:00.000000Z", "reportingComponent": "a.b/c", "reportingInstance": "i", "action": "x", "reason": "R"}


def _event(name: str = "e", **members: Any) -> Object:
    obj = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"}, **members}
    EVENT_KIND.codec().decode_body(obj, False)
    return obj


async def test_writes_mandatory_fields(events: ResourceRest) -> None:
    """Write the fields that the type always writes, including null times."""
    obj = (await events.create(CTX, _event(), CreateOptions())).object()

    del obj["metadata"]
    assert obj == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


async def test_creates_by_update(events: ResourceRest) -> None:
    """Create an absent event by an update, and update without a resourceVersion."""

    async def replace(_existing: Object) -> Object:
        return _event(message="again")

    assert (await events.update(CTX, "e", replace, UpdateOptions(create=True)))[1]
    item, created = await events.update(CTX, "e", replace, UpdateOptions())
    assert (item.object()["message"], created) == ("again", False)


@pytest.mark.parametrize(
    "members, problems",
    [
        ({}, []),
        ({"involvedObject": {"namespace": "other"}}, ['involvedObject.namespace: Invalid value: "other": does not match event.namespace']),
        (SEEN, []),
        (SEEN | {"involvedObject": {"namespace": "other"}}, []),
        (
            SEEN | {"action": "", "reason": "x" * 129},
            ["action: Required value", 'reason: Invalid value: "": can have at most 128 characters'],
        ),
        (SEEN | {"message": "x" * 1025}, ['message: Invalid value: "": can have at most 1024 characters']),
    ],
)
def test_validates_events(members: dict[str, Any], problems: list[str]) -> None:
    """Validate events of the core group and of the events.k8s.io form."""
    assert [str(error) for error in event_errors(_event(**members))] == problems


def test_requires_the_default_namespace() -> None:
    """Require namespace default for an event about a cluster-scoped object."""
    event = _event() | {"metadata": {"name": "e", "namespace": "x"}}

    assert [str(error) for error in event_errors(event)] == ['involvedObject.namespace: Invalid value: "": does not match event.namespace']


def test_returns_selectable_fields() -> None:
    """Return the selectable fields of kubectl and controllers."""
    fields = EVENT_KIND.codec().fields(_event(involvedObject={"name": "w", "kind": "Widget"}, reportingComponent="c", type="Normal"))

    assert fields["involvedObject.name"] == "w"
    assert fields["involvedObject.kind"] == "Widget"
    assert (fields["source"], fields["type"], fields["metadata.namespace"]) == ("c", "Normal", "default")
