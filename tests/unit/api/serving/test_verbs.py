"""Verbs of custom resources from request to response."""

import json
from typing import Any

import pytest

from tests.support.builders.crds import widget
from tests.support.servers.in_process import InProcess

BASE = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
TEST = {"op": "test", "path": "/kind", "value": "Widget"}
NO_KIND = 'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
NO_TEXT = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"
OTHER_VERSION = "the API version in the data ({}) does not match the expected API version (example.com/v1)"
UNRECOGNIZED = "the object provided is unrecognized (must be of type Widget): "
PARSE = UNRECOGNIZED + "couldn't get version/kind; json parse error: "


async def test_create_and_get(widgets: InProcess) -> None:
    """Return a created object pruned and defaulted, with a final line break."""
    created = await widgets.ask("POST", BASE, widget(replicas=1, nope=1))
    got = await widgets.ask("GET", f"{BASE}/a")

    assert (created.status, got.status) == (201, 200)
    assert created.body == got.body
    assert got.body.endswith(b"}\n")
    assert got.json["spec"] == {"replicas": 1, "size": "m"}
    assert created.warnings == ['299 - "unknown field \\"spec.nope\\""']


async def test_list(widgets: InProcess) -> None:
    """Return the encoded items in a list; an empty list has an empty `items`."""
    empty = await widgets.ask("GET", BASE)
    for name in "abc":
        await widgets.ask("POST", BASE, widget(name))
    listed = await widgets.ask("GET", f"{BASE}?limit=2")
    rest = await widgets.ask("GET", f"{BASE}?limit=2&continue={listed.json['metadata']['continue']}")

    assert empty.body.startswith(
        b'{"apiVersion":"example.com/v1","items":[],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"'
    )
    assert [item["metadata"]["name"] for item in listed.json["items"]] == ["a", "b"]
    assert listed.json["metadata"]["remainingItemCount"] == 1
    assert [item["metadata"]["name"] for item in rest.json["items"]] == ["c"]


async def test_update(widgets: InProcess) -> None:
    """Replace an object by PUT if its resourceVersion is current."""
    obj = (await widgets.ask("POST", BASE, widget(replicas=1))).json
    obj["spec"]["replicas"] = 2
    updated = await widgets.ask("PUT", f"{BASE}/a", obj)
    outdated = await widgets.ask("PUT", f"{BASE}/a", obj)

    assert (updated.status, updated.json["metadata"]["generation"]) == (200, 2)
    assert (outdated.status, outdated.json["reason"]) == (409, "Conflict")


@pytest.mark.parametrize(
    "content_type, patch, spec",
    [
        (MERGE, {"spec": {"replicas": 7, "size": None}}, {"replicas": 7, "size": "m"}),
        (f"{MERGE}; charset=utf-8", {}, {"replicas": 1, "size": "l"}),
        (
            JSON_PATCH,
            [{"op": "test", "path": "/spec/size", "value": "l"}, {"op": "remove", "path": "/spec/size"}],
            {"replicas": 1, "size": "m"},
        ),
        (JSON_PATCH, None, {"replicas": 1, "size": "l"}),
    ],
)
async def test_patch(widgets: InProcess, content_type: str, patch: object, spec: dict[str, Any]) -> None:
    """Apply patches to the stored object, and default it again."""
    await widgets.ask("POST", BASE, widget(replicas=1, size="l"))
    patched = await widgets.ask("PATCH", f"{BASE}/a", json.dumps(patch), Content_Type=content_type)

    assert patched.status == 200
    assert patched.json["spec"] == spec


@pytest.mark.parametrize(
    "content_type, patch, code, message",
    [
        ("application/strategic-merge-patch+json", "{}", 415, "accepted media types include: application/json-patch+json, "),
        ("application/apply-patch+yaml", "{}", 422, "fieldManager: Required value: is required for apply patch"),
        ("application/json", "{}", 415, "the body of the request was in an unknown format"),
        (MERGE, "{", 400, "invalid JSON patch"),
        (MERGE, "[]", 400, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (MERGE, '{"metadata":{"name":"b"}}', 400, "the name of the object (b) does not match the name on the URL (a)"),
        (MERGE, '{"metadata":null}', 400, "the name of the object (a based on URL) was undeterminable: name must be provided"),
        (MERGE, '{"metadata":{"namespace":"b"}}', 400, OTHER_NAMESPACE),
        (MERGE, '{"kind":null}', 422, "Object 'Kind' is missing in '{"),
        (MERGE, '{"kind":"X"}', 422, 'kind: Invalid value: "X": must be Widget'),
        (MERGE, '{"metadata":{"labels":{"a":1}}}', 422, NO_TEXT),
        (JSON_PATCH, "{}", 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (JSON_PATCH, '[{"op":"remove","path":"/x"}]', 422, "the server rejected our request due to an error in our request"),
        (JSON_PATCH, json.dumps([TEST] * 10_001), 413, "Request entity too large: The allowed maximum"),
        (MERGE, '{"spec":{"any":' + '{"a":' * 199 + "1" + "}" * 199 + "}}", 400, "the patch is nested deeper than 200 levels"),
        (MERGE, '{"spec":{"replicas":1e400}}', 400, "invalid JSON patch"),
    ],
)
async def test_rejects_invalid_patches(widgets: InProcess, content_type: str, patch: str, code: int, message: str) -> None:
    """Reject a patch that cannot be applied with the reference's message."""
    await widgets.ask("POST", BASE, widget())
    answer = await widgets.ask("PATCH", f"{BASE}/a", patch, Content_Type=content_type)

    assert (answer.status, answer.json["code"]) == (code, code)
    assert message in answer.message


async def test_patch_of_a_missing_object(widgets: InProcess) -> None:
    """Return 404 for a missing object before the patch is validated."""
    answer = await widgets.ask("PATCH", f"{BASE}/zz", "[]", Content_Type=MERGE)

    assert (answer.status, answer.message) == (404, 'widgets.example.com "zz" not found')


@pytest.mark.parametrize(
    "validation, code, warnings",
    [
        ("Ignore", 200, []),
        ("Warn", 200, ['299 - "duplicate field \\"spec.replicas\\""', '299 - "unknown field \\"spec.foo\\""']),
        ("Strict", 422, []),
    ],
)
async def test_field_validation_of_patches(widgets: InProcess, validation: str, code: int, warnings: list[str]) -> None:
    """Ignore, warn about or reject duplicate and unknown fields of a patch as fieldValidation says."""
    await widgets.ask("POST", BASE, widget())
    patch = '{"spec":{"replicas":1,"replicas":2,"foo":3}}'
    answer = await widgets.ask("PATCH", f"{BASE}/a?fieldValidation={validation}", patch, Content_Type=MERGE)

    assert answer.status == code
    assert answer.warnings == warnings
    if code == 422:
        assert answer.message.endswith('strict decoding error: duplicate field "spec.replicas", unknown field "spec.foo"')


@pytest.mark.parametrize(
    "body, message",
    [
        ("", PARSE + "unexpected end of JSON input (<empty>)"),
        ("{", PARSE + "unexpected end of JSON input ({)"),
        ("null", UNRECOGNIZED + "Object 'Kind' is missing in 'null' (6e756c6c)"),
        ("{}", UNRECOGNIZED + "Object 'Kind' is missing in '{}' ({})"),
        ('{"apiVersion":1}', PARSE + 'json: cannot unmarshal number into Go struct field .apiVersion of type string ({"apiVersion":1})'),
        (
            '{"apiVersion":"a/b/c","kind":"Widget"}',
            UNRECOGNIZED + 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)',
        ),
        ('{"kind":"Widget"}', OTHER_VERSION.format("")),
        ('{"apiVersion":"foo/v1","kind":"Widget"}', OTHER_VERSION.format("foo/v1")),
        (
            '{"apiVersion":"example.com/v1","kind":"Widget","metadata":"x"}',
            'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal string into Go value of type v1.ObjectMeta',
        ),
        (
            '{"apiVersion":"example.com/v1","kind":"Widget","spec":{"replicas":1e400}}',
            PARSE + 'json: cannot unmarshal a number beyond float64 ({"apiVersion":"example.com/v1" ...)',
        ),
        ('{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x","namespace":"y"}}', OTHER_NAMESPACE),
    ],
)
async def test_rejects_invalid_bodies(widgets: InProcess, body: str, message: str) -> None:
    """Reject a body that is not a widget with the reference's message, and store nothing."""
    answer = await widgets.ask("POST", BASE, body)

    assert (answer.status, answer.message) == (400, message)
    assert (await widgets.ask("GET", BASE)).json["items"] == []


async def test_replaces_invalid_utf8(widgets: InProcess) -> None:
    """Store invalid UTF-8 and lone surrogates as replacement characters."""
    body = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":"\xff\\ud800"}}'
    answer = await widgets.ask("POST", BASE, body)

    assert (answer.status, answer.json["spec"]["size"]) == (201, "\ufffd\ufffd")


async def test_yaml(widgets: InProcess) -> None:
    """Accept YAML bodies, warn about duplicate keys with their lines, and return YAML."""
    body = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec:\n  replicas: 1\n  replicas: 2\n"
    created = await widgets.ask("POST", BASE, body, Content_Type="application/yaml")
    strict = await widgets.ask("POST", f"{BASE}?fieldValidation=Strict", body, Content_Type="application/yaml")
    got = await widgets.ask("GET", f"{BASE}/a", Accept="application/yaml")

    assert (created.status, created.warnings) == (201, ['299 - "line 6: key \\"replicas\\" already set in map"'])
    assert strict.message.endswith('strict decoding error: yaml: unmarshal errors:\n  line 6: key "replicas" already set in map')
    assert got.headers["Content-Type"] == "application/yaml"
    assert b"spec:\n  replicas: 2\n  size: m\n" in got.body


async def test_body_limit(widgets: InProcess) -> None:
    """Return 413 for a body above 3 MB, with and without Content-Length."""
    answer = await widgets.ask("POST", BASE, b"a" * (3 * 1024 * 1024 + 1))

    assert (answer.status, answer.message) == (413, "Request entity too large: limit is 3145728")


async def test_dry_run(widgets: InProcess) -> None:
    """Answer a dry run like a write, and store nothing."""
    created = await widgets.ask("POST", f"{BASE}?dryRun=All", widget())

    assert (created.status, created.json["metadata"]["generation"]) == (201, 1)
    assert (await widgets.ask("GET", f"{BASE}/a")).status == 404


async def test_ignores_system_fields(widgets: InProcess) -> None:
    """Ignore system fields of a new object."""
    obj = widget()
    obj["metadata"] |= {"uid": "mine", "deletionTimestamp": "2020-01-01T00:00:00Z", "creationTimestamp": "2020-01-01T00:00:00Z"}
    metadata = (await widgets.ask("POST", BASE, obj)).json["metadata"]

    assert metadata["uid"] != "mine"
    assert "deletionTimestamp" not in metadata
    assert not metadata["creationTimestamp"].startswith("2020")


async def test_delete(widgets: InProcess) -> None:
    """Return a Status for a deleted object, and the object if finalizers keep it."""
    uid = (await widgets.ask("POST", BASE, widget())).json["metadata"]["uid"]
    gone = await widgets.ask("DELETE", f"{BASE}/a")
    obj = widget("b")
    obj["metadata"]["finalizers"] = ["example.com/x"]
    await widgets.ask("POST", BASE, obj)
    waiting = await widgets.ask("DELETE", f"{BASE}/b", {"orphanDependents": False})

    assert gone.body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",'
        b'"details":{"name":"a","group":"example.com","kind":"widgets","uid":"%b"}}\n' % uid.encode()
    )
    assert waiting.status == 202
    assert "deletionTimestamp" in waiting.json["metadata"]


@pytest.mark.parametrize(
    "query, body, code, message",
    [
        ("?gracePeriodSeconds=x", None, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("", {"preconditions": {"uid": "x"}}, 409, "the UID in the precondition (x) does not match the UID in record ("),
        ("", {"dryRun": "All"}, 400, "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string"),
        ("", {"kind": "Foo", "apiVersion": "v1"}, 400, NO_KIND),
        ("", {"propagationPolicy": "Foo"}, 422, 'propagationPolicy: Unsupported value: "Foo"'),
        ("", "{", 400, "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        ("", "[]", 400, "json: cannot unmarshal array into Go value of type struct {"),
    ],
)
async def test_rejects_invalid_delete_options(widgets: InProcess, query: str, body: object, code: int, message: str) -> None:
    """Reject invalid delete options, and keep the object."""
    await widgets.ask("POST", BASE, widget())
    answer = await widgets.ask("DELETE", f"{BASE}/a{query}", body)

    assert answer.status == code
    assert message in answer.message
    assert (await widgets.ask("GET", f"{BASE}/a")).status == 200


@pytest.mark.parametrize("body, code", [({"dryRun": ["All"] * 10_000}, 200), ({"dryRun": ["All", "x"] * 5_000}, 422)])
async def test_checks_large_delete_options(widgets: InProcess, body: object, code: int) -> None:
    """Validate options in a large body, which a worker process reads."""
    await widgets.ask("POST", BASE, widget())

    assert (await widgets.ask("DELETE", f"{BASE}/a", body)).status == code
    assert (await widgets.ask("GET", f"{BASE}/a")).status == 200


@pytest.mark.parametrize("api_version", ["v1", "meta.k8s.io/v1", "example.com/v1", "apps/v1"])
async def test_accepts_delete_options_of_any_group(widgets: InProcess, api_version: str) -> None:
    """Accept DeleteOptions of any group."""
    await widgets.ask("POST", BASE, widget())
    answer = await widgets.ask("DELETE", f"{BASE}/a", {"kind": "DeleteOptions", "apiVersion": api_version, "dryRun": ["All"]})

    assert (answer.status, answer.json["status"]) == (200, "Success")


async def test_delete_collection(widgets: InProcess) -> None:
    """Delete and return the objects that the selectors select."""
    for name in "ab":
        obj = widget(name)
        obj["metadata"]["labels"] = {"l": name}
        await widgets.ask("POST", BASE, obj)
    answer = await widgets.ask("DELETE", f"{BASE}?labelSelector=l%3Da")

    assert [item["metadata"]["name"] for item in answer.json["items"]] == ["a"]
    assert [item["metadata"]["name"] for item in (await widgets.ask("GET", BASE)).json["items"]] == ["b"]


async def test_status_and_scale(widgets: InProcess) -> None:
    """Update only the part of the object that a subresource owns."""
    await widgets.ask("POST", BASE, widget(replicas=1))
    patch = '{"spec":{"replicas":9},"status":{"replicas":5}}'
    status = await widgets.ask("PATCH", f"{BASE}/a/status", patch, Content_Type=MERGE)
    scaled = await widgets.ask("PUT", f"{BASE}/a/scale?fieldValidation=Warn", {"metadata": {"name": "a"}, "spec": {"replicas": 4, "x": 1}})
    scale = await widgets.ask("GET", f"{BASE}/a/scale")

    assert (status.json["spec"]["replicas"], status.json["status"]["replicas"]) == (1, 5)
    assert (scaled.status, scaled.warnings) == (200, ['299 - "unknown field \\"spec.x\\""'])
    assert (scale.json["kind"], scale.json["spec"], scale.json["status"]) == ("Scale", {"replicas": 4}, {"replicas": 5})


@pytest.mark.parametrize("body", [{"kind": "Foo"}, {"apiVersion": "autoscaling/v2"}, {"spec": {"replicas": "x"}}, "["])
async def test_rejects_invalid_scales(widgets: InProcess, body: object) -> None:
    """Reject an invalid scale with the reference's fixed message."""
    await widgets.ask("POST", BASE, widget(replicas=1))
    answer = await widgets.ask("PUT", f"{BASE}/a/scale", body)

    assert (answer.status, answer.message) == (400, 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')


@pytest.mark.parametrize(
    "method, path, code, message",
    [
        ("PUT", BASE, 400, "name must be provided"),
        ("POST", f"{BASE}/a/status", 405, 'create is not supported on resources of kind "widgets.example.com"'),
        ("DELETE", f"{BASE}/a/scale", 405, 'delete is not supported on resources of kind "widgets.example.com"'),
        ("OPTIONS", BASE, 405, ' is not supported on resources of kind "widgets.example.com"'),
        ("PURGE", f"{BASE}/a", 405, ' is not supported on resources of kind "widgets.example.com"'),
        ("GET", f"{BASE}/a/foo", 404, 'widgets.example.com "a" not found'),
        ("GET", f"{BASE}/a?export=1", 400, "the export parameter, deprecated since v1.14, is no longer supported"),
        ("GET", f"{BASE}?fieldSelector=spec.x%3D1", 400, "field label not supported: spec.x"),
    ],
)
async def test_rejects_unknown_subresources_and_verbs(widgets: InProcess, method: str, path: str, code: int, message: str) -> None:
    """Reject unknown subresources and unsupported verbs."""
    answer = await widgets.ask(method, path, {} if method in {"PUT", "POST"} else None)

    assert (answer.status, answer.message) == (code, message)


@pytest.mark.parametrize(
    "path",
    [
        "/apis/example.com/v1/widgets/a",
        "/apis/example.com/v1/namespaces/default/gadgets",
        "/apis/example.com/v2/namespaces/default/widgets",
        "/apis/nope.com/v1/widgets",
    ],
)
async def test_unknown_paths(widgets: InProcess, path: str) -> None:
    """Return 404 in plain text for resources that are not served."""
    answer = await widgets.ask("GET", path)

    assert (answer.status, answer.body) == (404, b"404 page not found\n")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"


async def test_head(widgets: InProcess) -> None:
    """Return the headers of GET without the body for HEAD."""
    created = await widgets.ask("POST", BASE, widget())
    head = await widgets.ask("HEAD", f"{BASE}/a")

    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", str(len(created.body)))
