"""The scale subresource."""

from typing import Any

import pytest

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.managedfields import field_set
from apiext.resources.managedfields.scale import ScaleManagers
from apiext.resources.registry.customresources.scale import ScaleCodec, ScaleRest
from apiext.resources.registry.request_context import UpdateOptions
from tests.support.refusals import refusal
from tests.unit.resources.registry.conftest import SCALE, Widgets


@pytest.fixture
def scale(widgets: Widgets) -> ScaleRest:
    """Return the scale of the widgets."""
    replicas = field_set.from_paths(("f:spec", "f:replicas"))
    return ScaleRest(widgets.rest, SCALE, ScaleManagers("example.com/v1", {"example.com/v1": replicas}))


async def _set(widgets: Widgets, scale: ScaleRest, obj: Object, options: UpdateOptions | None = None) -> Object:
    ScaleCodec().decode_body(obj, False)

    async def replace(_existing: Object) -> Object:
        return obj

    item, created = await scale.update(widgets.ctx, "a", replace, options or UpdateOptions())
    assert not created
    return item.object()


def _scale(**spec: Any) -> Object:
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": spec}


async def test_returns_the_scale(widgets: Widgets, scale: ScaleRest) -> None:
    """Return the identity of the object, wanted and current replicas, and the selector."""
    obj = await widgets.create("a", spec={"replicas": 3}, metadata={"labels": {"a": "b"}})
    status = widgets.status_rest
    obj = await widgets.put(obj | {"status": {"replicas": 2, "selector": "a=b"}}, rest=status)

    shown = (await scale.get(widgets.ctx, "a")).object()

    metadata = {name: member for name, member in obj["metadata"].items() if name not in ("labels", "generation")}
    assert shown == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "a=b"},
    }


async def test_rejects_objects_without_replicas(widgets: Widgets, scale: ScaleRest) -> None:
    """Answer 500 with the reference's message for an object without replicas."""
    await widgets.create("a")
    refused = await refusal(scale.get(widgets.ctx, "a"))

    assert (refused.code, refused.message) == (
        500,
        'Internal error occurred: the spec replicas field ".spec.replicas" does not exist',
    )


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"replicas": "3"}, ".spec.replicas accessor error: 3 is of the type string, expected int64"),
        ({"replicas": None}, ".spec.replicas accessor error: <nil> is of the type <nil>, expected int64"),
        ([1], ".spec.replicas accessor error: [1] is of the type []interface {}, expected map[string]interface{}"),
    ],
)
def test_rejects_values_of_another_type(scale: ScaleRest, spec: Any, message: str) -> None:
    """Answer 500 without a reason for values of another type, which another version may store."""
    with pytest.raises(StatusError) as refused:
        scale.shown({"metadata": {"name": "a"}, "spec": spec})

    assert (refused.value.code, refused.value.reason, refused.value.message) == (500, "", message)


@pytest.mark.parametrize("stored, shown", [(2**31, -(2**31)), (2**32 + 5, 5), (-3, -3)])
def test_truncates_numbers_to_32_bits(scale: ScaleRest, stored: int, shown: int) -> None:
    """Truncate numbers to 32 bits."""
    found, is_set = scale.shown({"metadata": {"name": "a"}, "spec": {"replicas": stored}, "status": {"replicas": stored}})

    assert (found["spec"], found["status"], is_set) == ({"replicas": shown}, {"replicas": shown}, True)


async def test_sets_replicas(widgets: Widgets, scale: ScaleRest) -> None:
    """Increase the generation for new replicas, without a resourceVersion."""
    await widgets.create("a", spec={"color": "red"})
    shown = await _set(widgets, scale, _scale(replicas=5))

    assert shown["spec"] == {"replicas": 5}
    obj = await widgets.get("a")
    assert obj["spec"] == {"color": "red", "size": "small", "replicas": 5}
    assert obj["metadata"]["generation"] == 2
    assert (await _set(widgets, scale, _scale()))["spec"] == {}


async def test_rejects_absent_replicas(widgets: Widgets, scale: ScaleRest) -> None:
    """Reject an updater that keeps absent replicas."""
    await widgets.create("a")

    async def keep(existing: Object) -> Object:
        return existing

    refused = await refusal(scale.update(widgets.ctx, "a", keep, UpdateOptions()))
    assert refused.message == 'the spec replicas field ".spec.replicas" cannot be empty'


async def test_rejects_invalid_updates(widgets: Widgets, scale: ScaleRest) -> None:
    """Reject negative replicas and an outdated resourceVersion as for the object."""
    await widgets.create("a", spec={"replicas": 1})
    refused = await refusal(_set(widgets, scale, _scale(replicas=-1)))
    assert refused.message == ('Widget.example.com "a" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer')

    outdated = _scale(replicas=2) | {"metadata": {"name": "a", "resourceVersion": "999"}}
    refused = await refusal(_set(widgets, scale, outdated))
    assert refused.code == 409


async def test_admission_sees_scales(widgets: Widgets, scale: ScaleRest) -> None:
    """Call admission with Scale objects."""
    await widgets.create("a", spec={"replicas": 1})
    seen: list[Any] = []

    async def admit(operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        assert new is not None
        assert old is not None
        seen.append((operation, new["kind"], new["spec"], old["spec"]))

    await _set(widgets, scale, _scale(replicas=2), UpdateOptions(admit=admit))

    assert seen == [(AdmissionOperation.UPDATE, "Scale", {"replicas": 2}, {"replicas": 1})]


@pytest.mark.parametrize(
    "spec, why",
    [
        ({"replicas": "x"}, "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"),
        (
            {"replicas": 2**31},
            "json: cannot unmarshal number 2147483648 into Go struct field ScaleSpec.spec.replicas of type int32",
        ),
    ],
)
def test_rejects_other_bodies(spec: dict[str, Any], why: str) -> None:
    """Reject a body that is no Scale with the decoder's message."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        ScaleCodec().decode_body(_scale(**spec), False)

    assert str(refused.value) == why
    assert ScaleCodec().decode_body(_scale(foo=1), True) == ['unknown field "spec.foo"']
