"""Codec of definitions: request bodies, canonical form and stored bytes."""

import json
from pathlib import Path
from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.definitions.codec import CRDCodec, canonical, compact
from apiext.resources.definitions.validation.definition import validate_create
from apiext.storage.rendering.renderer import Renderer
from hack.lib.real_crds import NO_REAL, REAL
from tests.support.builders import crds
from tests.unit.resources.definitions.recorded import body, decoded, records

FILES = sorted(REAL.glob("*/*.json"))


@pytest.mark.parametrize("record", records("decode"), ids=lambda record: record["message"][:80])
def test_reports_wrong_types_and_unknown_fields(record: dict[str, Any]) -> None:
    """Report wrong types and unknown fields with the reference's messages in strict decoding."""
    try:
        strict = CRDCodec().decode_body(record["body"], True)
    except ValueError as error:
        message = str(error)
    else:
        message = "strict decoding error: " + ", ".join(strict)

    assert record["message"] == message


def test_drops_unknown_fields() -> None:
    """Drop unknown fields without a report in lenient decoding."""
    crd = body(foo=1)
    crd["metadata"]["bar"] = 2

    strict = CRDCodec().decode_body(crd, False)

    assert strict == []
    assert "foo" not in crd["spec"]
    assert "bar" not in crd["metadata"]


def test_does_not_report_unknown_fields_below_items() -> None:
    """Drop unknown fields below `items` without a report: the reference's decoder for it is never strict."""
    crd = body()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "array", "items": {"type": "string", "foo": 1}}

    strict = CRDCodec().decode_body(crd, True)

    assert strict == []
    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["items"] == {"type": "string"}


def test_null_is_absent() -> None:
    """Treat a null as an absent field, for each type."""
    crd = body(preserveUnknownFields=None, conversion=None)
    crd["spec"]["versions"][0]["deprecationWarning"] = None
    crd["metadata"]["labels"] = None
    crd["status"] = None

    CRDCodec().decode_body(crd, True)

    assert crd == decoded(body())


def test_keeps_null_in_enumerations_only() -> None:
    """Keep a null in an enumeration; drop a null default."""
    crd = body()
    schema = {"type": "string", "enum": ["a", None], "default": None}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema

    CRDCodec().decode_body(crd, True)

    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {"type": "string", "enum": ["a", None]}


def test_sets_defaults() -> None:
    """Derive names from the kind, default the conversion to None, and record the storage version as stored."""
    crd = decoded(body())

    assert crd["spec"]["names"] == {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }


def test_defaults_webhook_port() -> None:
    """Default the port of a webhook's service to 443."""
    client = {"service": {"namespace": "default", "name": "w"}}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}

    crd = decoded(body(conversion={"strategy": "Webhook", "webhook": webhook}))

    assert crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


@pytest.mark.parametrize("record", records("stored"), ids=lambda record: record["served"]["metadata"]["name"])
def test_stored_bytes_equal_the_reference(record: dict[str, Any]) -> None:
    """Decode kube-apiserver's stored bytes to what it serves, and encode them to the same bytes."""
    stored = record["stored"].encode()

    served = CRDCodec().decode(stored)

    assert record["served"] == served
    assert stored == CRDCodec().encode(served).data
    assert stored == CRDCodec().encode(decoded(record["served"])).data


@pytest.mark.parametrize("record", [record for record in records("create") if record["code"] != 400])
def test_shows_what_it_stored(record: dict[str, Any]) -> None:
    """Render a definition that was just encoded as its stored bytes are rendered later."""
    codec, renderer, obj = CRDCodec(), Renderer("/registry/"), decoded(record["body"])
    obj["metadata"]["uid"] = "0f2b"

    encoded = codec.encode(obj)

    written, read = renderer.written(codec, "foos", encoded, 7, obj), renderer.item(codec, "foos", encoded.data, 7)
    assert encoded.revision_at > 0
    assert (read.data, read.revision, read.labels, read.fields) == (written.data, written.revision, written.labels, written.fields)
    assert read.object()["metadata"]["resourceVersion"] == "7"


def test_does_not_store_the_resource_version() -> None:
    """Omit resourceVersion from the stored bytes."""
    crd = decoded(body())
    crd["metadata"]["resourceVersion"] = "5"

    assert b"resourceVersion" not in CRDCodec().encode(crd).data


def test_decodes_v1() -> None:
    """Decode stored v1 bytes to the same definition as v1beta1 bytes."""
    crd = decoded(body())

    assert crd == CRDCodec().decode(json_codec.dumps(crd))


def test_decodes_old_v1beta1() -> None:
    """Decode an old v1beta1 definition: `version` defines the only version, and preserveUnknownFields defaults to true."""
    spec = {"group": "example.com", "version": "v1", "names": {"plural": "foos", "kind": "Foo"}}
    old = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"}}

    crd = CRDCodec().decode(json.dumps(old | {"spec": spec}).encode())

    assert crd["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True}]
    assert crd["spec"]["scope"] == "Namespaced"
    assert crd["spec"]["preserveUnknownFields"] is True
    assert crd["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"kind":"Foo"}', b"{"])
def test_rejects_other_values(data: bytes) -> None:
    """Reject stored bytes that are not a definition."""
    with pytest.raises(ValueError, match=r".+"):
        CRDCodec().decode(data)


@pytest.mark.skipif(not FILES, reason=NO_REAL)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_definitions_round_trip(path: Path) -> None:
    """Encode and decode published definitions without a change; they have no unknown fields."""
    crd = json_codec.loads(path.read_bytes())

    strict = CRDCodec().decode_body(crd, True)
    stored = CRDCodec().encode(crd).data
    read = CRDCodec().decode(stored)

    assert strict == []
    if crd["spec"]["versions"]:  # some of the files are fragments that only set a webhook
        assert crd == read
        assert stored == CRDCodec().encode(read).data
        assert stored == CRDCodec().encode(json_codec.loads(json_codec.dumps(read))).data
    assert crd == canonical(crd)


def crd(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """Return a definition as the codec decodes it from a request."""
    only = crds.version("v1", storage=True, schema={"type": "object"} | schema, **version)
    obj = crds.crd("things", only, kind="Thing", scope="Cluster") | {"status": {"storedVersions": ["v1"]}}
    CRDCodec().decode_body(obj, report=False)
    return obj


def messages(obj: dict[str, Any]) -> list[str]:
    """Return the validation errors of a definition."""
    return [f"{error.field}: {error.detail}" for error in validate_create(obj)]


def test_rejects_empty_dependencies() -> None:
    """Reject dependencies at any depth, also empty ones."""
    path = "spec.validation.openAPIV3Schema.properties[a].dependencies"

    assert messages(crd({"properties": {"a": {"type": "object", "dependencies": {}}}})) == [f"{path}: dependencies is not supported"]


@pytest.mark.parametrize("key", ["enum", "allOf", "anyOf", "oneOf"])
def test_rejects_empty_root_fields_with_status(key: str) -> None:
    """Reject fields at the schema root that a status subresource does not allow, also empty ones."""
    found = messages(crd({key: []}, subresources={"status": {}}))

    assert len(found) == 1
    assert found[0].startswith("spec.validation.openAPIV3Schema: only [Description Type")


def test_rejects_metadata_restrictions() -> None:
    """Reject restrictions of metadata, also empty or false ones."""
    restrictions: tuple[dict[str, Any], ...] = ({"required": []}, {"additionalProperties": False})
    for restriction in restrictions:
        [found] = messages(crd({"properties": {"metadata": {"type": "object"} | restriction}}))

        assert "metadata is implicitly specified" in found


def test_compacts_at_any_depth() -> None:
    """Remove empty lists and maps of schemas and versions at any depth; keep defaults and examples unchanged."""
    inner = {"type": "object", "default": {"enum": []}, "required": [], "anyOf": [{"enum": []}], "properties": {}}
    obj = crd({"properties": {"a": inner}, "allOf": []}, additionalPrinterColumns=[], selectableFields=[])
    [version] = compact(obj["spec"])["versions"]

    assert version == {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"a": {"type": "object", "default": {"enum": []}, "anyOf": [{}]}},
            }
        },
    }
    assert json_codec.loads(CRDCodec().encode(obj | {"spec": compact(obj["spec"])}).data)["spec"]["validation"]
