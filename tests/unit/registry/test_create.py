"""Creating gives objects what only the server knows, and refuses what the reference refuses."""

from __future__ import annotations

from typing import Any

import pytest

from apiext.meta import names, time
from apiext.meta.errors import StatusError
from apiext.meta.json_codec import Object
from apiext.registry.request_context import CreateOptions, Operation
from apiext.storage.direct_store import DirectStore
from tests.unit.registry.conftest import Widgets


async def test_system_fields(widgets: Widgets) -> None:
    """A new object has uid, creation time, generation 1, the request's namespace and a resourceVersion."""
    created = await widgets.create("a", spec={"color": "red"}, status={"replicas": 5})

    metadata = created["metadata"]
    assert time.is_canonical(metadata["creationTimestamp"])
    assert len(metadata["uid"]) == 36
    assert (metadata["generation"], metadata["namespace"]) == (1, "default")
    assert int(metadata["resourceVersion"]) > 0
    assert created["spec"] == {"color": "red", "size": "small"}
    assert "status" not in created
    assert await widgets.get("a") == created


async def test_status_without_a_subresource(store: DirectStore) -> None:
    """Where status is no subresource, a create may set it."""
    created = await Widgets(store, has_status=False).create("a", status={"replicas": 5})

    assert created["status"] == {"replicas": 5}


async def test_dry_run_stores_nothing(widgets: Widgets) -> None:
    """The answer is the object as it would have been."""
    created = await widgets.create("a", options=CreateOptions(dry_run=True))

    assert created["metadata"]["uid"]
    with pytest.raises(StatusError) as missing:
        await widgets.get("a")
    assert missing.value.message == 'widgets.example.com "a" not found'


async def test_generated_name(widgets: Widgets) -> None:
    """A generateName without a name gets five random characters."""
    created = await widgets.create(metadata={"generateName": "web-"})

    assert created["metadata"]["name"].startswith("web-")
    assert len(created["metadata"]["name"]) == 9


async def test_generated_name_is_tried_again(widgets: Widgets, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is taken is replaced by another, eight times at most."""
    drawn: list[str] = []
    suffixes = iter(["1", "1", "1", "2"])

    def draw(base: str) -> str:
        drawn.append(base)
        return base + next(suffixes, "1")

    monkeypatch.setattr(names, "generate_name", draw)

    assert (await widgets.create(metadata={"generateName": "x"}))["metadata"]["name"] == "x1"
    assert (await widgets.create(metadata={"generateName": "x"}))["metadata"]["name"] == "x2"
    drawn.clear()
    with pytest.raises(StatusError) as taken:
        await widgets.create(metadata={"generateName": "x"})

    assert len(drawn) == 8
    assert taken.value.message == (
        'widgets.example.com "x1" already exists, the server was not able to generate a unique name for the object'
    )
    assert taken.value.retry_after == 1


async def test_taken_name(widgets: Widgets) -> None:
    """A second object of a name is refused, with a hint when the first is on its way out."""
    await widgets.create("a", metadata={"finalizers": ["a.b/c"]})
    with pytest.raises(StatusError) as taken:
        await widgets.create("a")
    assert taken.value.message == 'widgets.example.com "a" already exists'

    await widgets.delete("a")
    with pytest.raises(StatusError) as taken:
        await widgets.create("a")
    assert taken.value.message == 'object is being deleted: widgets.example.com "a" already exists'
    assert (taken.value.code, taken.value.reason) == (409, "AlreadyExists")


@pytest.mark.parametrize(
    "metadata, code, message",
    [
        (
            {"name": "a", "namespace": "other"},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        ({"name": "a", "resourceVersion": "5"}, 500, "resourceVersion should not be set on objects to be created"),
        ({}, 422, 'Widget.example.com "" is invalid: metadata.name: Required value: name or generateName is required'),
        (
            {"name": "a", "labels": {"a": "x" * 64}},
            422,
            f'Widget.example.com "a" is invalid: metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
    ],
)
async def test_refused_metadata(widgets: Widgets, metadata: dict[str, Any], code: int, message: str) -> None:
    """Bad metadata is refused in the reference's words."""
    with pytest.raises(StatusError) as refused:
        await widgets.create(metadata=metadata)

    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    "spec, message",
    [
        ({"replicas": -1}, ".spec.replicas: Invalid value: -1: should be a non-negative integer"),
        ({"replicas": 2**31}, ".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"),
        (
            {"replicas": "x"},
            (
                '[spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", '
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64]"
            ),
        ),
        ({"tags": ["a", "a"]}, 'spec.tags[1]: Duplicate value: "a"'),
    ],
)
async def test_refused_spec(widgets: Widgets, spec: dict[str, Any], message: str) -> None:
    """Values, replicas and lists are checked, in this order."""
    with pytest.raises(StatusError) as refused:
        await widgets.create("a", spec=spec)

    assert refused.value.message == f'Widget.example.com "a" is invalid: {message}'


async def test_another_kind(widgets: Widgets) -> None:
    """An object of another kind is refused under the name of that kind, and nothing else is said."""
    obj = widgets.body("a", spec={"replicas": "x"}) | {"kind": "Foo"}
    with pytest.raises(StatusError) as refused:
        await widgets.rest.create(widgets.ctx, obj, CreateOptions())

    assert refused.value.message == 'Foo.example.com "a" is invalid: kind: Invalid value: "Foo": must be Widget'


async def test_warnings_about_finalizers(widgets: Widgets) -> None:
    """Finalizers that others might use too are warned about, each once."""
    await widgets.create("a", metadata={"finalizers": ["nodomain", "x.y", "kubernetes", "a.b/c", "nodomain"]})

    hint = "to avoid accidental conflicts with other finalizer writers"
    assert widgets.ctx.warnings == [
        f'metadata.finalizers: "nodomain": prefer a domain-qualified finalizer name {hint}',
        f'metadata.finalizers: "x.y": prefer a domain-qualified finalizer name including a path (/) {hint}',
    ]


async def test_cluster_scoped(store: DirectStore) -> None:
    """Outside namespaces, an object's namespace is dropped."""
    created = await Widgets(store, namespaced=False).create("a", metadata={"namespace": "x"})

    assert "namespace" not in created["metadata"]


async def test_admission_sees_the_complete_object(widgets: Widgets) -> None:
    """Admission comes last, and its refusal is the answer."""
    seen: list[Any] = []

    async def admit(operation: Operation, new: Object | None, old: Object | None) -> None:
        seen.append((operation, new and new["metadata"]["generation"], old))
        raise StatusError(403, "Forbidden", "no", {})

    with pytest.raises(StatusError, match=r"^no$"):
        await widgets.create("a", options=CreateOptions(admit=admit))
    assert seen == [(Operation.CREATE, 1, None)]


@pytest.mark.parametrize(
    "name, message",
    [
        ("a%b", "Name parameter invalid: \"a%b\": may not contain '%'"),
        ("..", "Name parameter invalid: \"..\": may not be '..'"),
        ("", "Name parameter required."),
    ],
)
async def test_names_that_cannot_be(widgets: Widgets, name: str, message: str) -> None:
    """A name that no key can hold is a bad request, not a missing object."""
    with pytest.raises(StatusError) as refused:
        await widgets.get(name)

    assert (refused.value.code, refused.value.message) == (400, message)
