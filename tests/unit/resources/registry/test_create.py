"""Creation: system fields, validation and admission."""

from typing import Any

import pytest

from apiext.base.meta import names, time
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.errors import StatusError
from apiext.base.meta.request import AdmissionOperation
from apiext.resources.registry.request_context import CreateOptions
from apiext.storage.interface import Store
from tests.support.refusals import refusal
from tests.unit.resources.registry.conftest import OTHER_NAMESPACE, Widgets


async def test_sets_system_fields(widgets: Widgets) -> None:
    """Set uid, creation time, generation 1, the request's namespace and a resourceVersion."""
    created = await widgets.create("a", spec={"color": "red"}, status={"replicas": 5})

    metadata = created["metadata"]
    assert time.is_canonical(metadata["creationTimestamp"])
    assert len(metadata["uid"]) == 36
    assert (metadata["generation"], metadata["namespace"]) == (1, "default")
    assert int(metadata["resourceVersion"]) > 0
    assert created["spec"] == {"color": "red", "size": "small"}
    assert "status" not in created
    assert await widgets.get("a") == created


async def test_stores_the_status_without_a_subresource(store: Store) -> None:
    """Store the status where it is no subresource."""
    created = await Widgets(store, has_status=False).create("a", status={"replicas": 5})

    assert created["status"] == {"replicas": 5}


async def test_dry_run_stores_nothing(widgets: Widgets) -> None:
    """Return the object of a dry run without storing it."""
    created = await widgets.create("a", options=CreateOptions(dry_run=True))

    assert created["metadata"]["uid"]
    missing = await refusal(widgets.get("a"))
    assert missing.message == 'widgets.example.com "a" not found'


async def test_generates_a_name(widgets: Widgets) -> None:
    """Append five random characters to generateName."""
    created = await widgets.create(metadata={"generateName": "web-"})

    assert created["metadata"]["name"].startswith("web-")
    assert len(created["metadata"]["name"]) == 9


async def test_retries_generated_names(widgets: Widgets, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generate another name for one that exists, at most eight times."""
    drawn: list[str] = []
    suffixes = iter(["1", "1", "1", "2"])

    def draw(base: str) -> str:
        drawn.append(base)
        return base + next(suffixes, "1")

    monkeypatch.setattr(names, "generate_name", draw)

    assert (await widgets.create(metadata={"generateName": "x"}))["metadata"]["name"] == "x1"
    assert (await widgets.create(metadata={"generateName": "x"}))["metadata"]["name"] == "x2"
    drawn.clear()
    taken = await refusal(widgets.create(metadata={"generateName": "x"}))

    assert len(drawn) == 8
    assert taken.message == ('widgets.example.com "x1" already exists, the server was not able to generate a unique name for the object')
    assert taken.retry_after == 1


async def test_rejects_an_existing_name(widgets: Widgets) -> None:
    """Answer 409 for an existing name, and say so if its object is being deleted."""
    await widgets.create("a", metadata={"finalizers": ["a.b/c"]})
    taken = await refusal(widgets.create("a"))
    assert taken.message == 'widgets.example.com "a" already exists'

    await widgets.delete("a")
    taken = await refusal(widgets.create("a"))
    assert taken.message == 'object is being deleted: widgets.example.com "a" already exists'
    assert (taken.code, taken.reason) == (409, "AlreadyExists")


@pytest.mark.parametrize(
    "metadata, code, message",
    [
        ({"name": "a", "namespace": "other"}, 400, OTHER_NAMESPACE),
        ({"name": "a", "resourceVersion": "5"}, 500, "resourceVersion should not be set on objects to be created"),
        ({}, 422, 'Widget.example.com "" is invalid: metadata.name: Required value: name or generateName is required'),
        (
            {"name": "a", "labels": {"a": "x" * 64}},
            422,
            f'Widget.example.com "a" is invalid: metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
        ),
    ],
)
async def test_rejects_invalid_metadata(widgets: Widgets, metadata: dict[str, Any], code: int, message: str) -> None:
    """Reject invalid metadata with the reference's message."""
    refused = await refusal(widgets.create(metadata=metadata))

    assert (refused.code, refused.message) == (code, message)


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
async def test_rejects_an_invalid_spec(widgets: Widgets, spec: dict[str, Any], message: str) -> None:
    """Validate values, replicas and lists, in this order."""
    refused = await refusal(widgets.create("a", spec=spec))

    assert refused.message == f'Widget.example.com "a" is invalid: {message}'


async def test_rejects_another_kind(widgets: Widgets) -> None:
    """Reject an object of another kind with a single error about that kind."""
    obj = widgets.body("a", spec={"replicas": "x"}) | {"kind": "Foo"}
    refused = await refusal(widgets.rest.create(widgets.ctx, obj, CreateOptions()))

    assert refused.message == 'Foo.example.com "a" is invalid: kind: Invalid value: "Foo": must be Widget'


async def test_warns_about_finalizers(widgets: Widgets) -> None:
    """Warn once about each finalizer that may conflict with others."""
    await widgets.create("a", metadata={"finalizers": ["nodomain", "x.y", "kubernetes", "a.b/c", "nodomain"]})

    hint = "to avoid accidental conflicts with other finalizer writers"
    assert widgets.ctx.warnings == [
        f'metadata.finalizers: "nodomain": prefer a domain-qualified finalizer name {hint}',
        f'metadata.finalizers: "x.y": prefer a domain-qualified finalizer name including a path (/) {hint}',
    ]


async def test_drops_the_namespace_of_cluster_scoped_objects(store: Store) -> None:
    """Drop the namespace of a cluster-scoped object."""
    created = await Widgets(store, namespaced=False).create("a", metadata={"namespace": "x"})

    assert "namespace" not in created["metadata"]


async def test_admission_sees_the_complete_object(widgets: Widgets) -> None:
    """Call admission last with the complete object, and answer with its refusal."""
    seen: list[Any] = []

    async def admit(operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
        seen.append((operation, new and new["metadata"]["generation"], old))
        raise StatusError(403, "Forbidden", "no", {})

    with pytest.raises(StatusError, match=r"^no$"):
        await widgets.create("a", options=CreateOptions(admit=admit))
    assert seen == [(AdmissionOperation.CREATE, 1, None)]


@pytest.mark.parametrize(
    "name, message",
    [
        ("a%b", "Name parameter invalid: \"a%b\": may not contain '%'"),
        ("..", "Name parameter invalid: \"..\": may not be '..'"),
        ("", "Name parameter required."),
    ],
)
async def test_rejects_impossible_names(widgets: Widgets, name: str, message: str) -> None:
    """Answer 400, not 404, for a name that no key can contain."""
    refused = await refusal(widgets.get(name))

    assert (refused.code, refused.message) == (400, message)
