"""Definitions between bodies, canonical form and stored bytes."""

import json
from pathlib import Path
from typing import Any

import pytest

from apiext.definitions.codec import CRDCodec, canonical
from apiext.meta import json_codec
from tests.support.builders.crds import NO_REAL, REAL
from tests.unit.definitions.recorded import body, decoded, records

FILES = sorted(REAL.glob("*/*.json"))


@pytest.mark.parametrize("record", records("decode"), ids=lambda record: record["message"][:80])
def test_wrong_types_and_unknown_fields_are_reported_in_the_references_words(record: dict[str, Any]) -> None:
    """Decoding a body strictly fails with the message that the reference gives."""
    try:
        strict = CRDCodec().decode_body(record["body"], True)
    except ValueError as error:
        message = str(error)
    else:
        message = "strict decoding error: " + ", ".join(strict)

    assert record["message"] == message


def test_unknown_fields_are_dropped_without_strict_decoding() -> None:
    """A lenient decode reports nothing and forgets what the type does not have."""
    crd = body(foo=1)
    crd["metadata"]["bar"] = 2

    strict = CRDCodec().decode_body(crd, False)

    assert strict == []
    assert "foo" not in crd["spec"]
    assert "bar" not in crd["metadata"]


def test_unknown_fields_below_items_are_not_reported() -> None:
    """The decoder of `items` is one of its own that is never strict, but drops what it does not know."""
    crd = body()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "array", "items": {"type": "string", "foo": 1}}

    strict = CRDCodec().decode_body(crd, True)

    assert strict == []
    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["items"] == {"type": "string"}


def test_null_counts_as_absent() -> None:
    """A null leaves a field at its zero value, whatever its type."""
    crd = body(preserveUnknownFields=None, conversion=None)
    crd["spec"]["versions"][0]["deprecationWarning"] = None
    crd["metadata"]["labels"] = None
    crd["status"] = None

    CRDCodec().decode_body(crd, True)

    assert crd == decoded(body())


def test_a_null_in_an_enumeration_stays_and_as_a_default_goes() -> None:
    """Enumerations may list null; a default of null is none."""
    crd = body()
    schema = {"type": "string", "enum": ["a", None], "default": None}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema

    CRDCodec().decode_body(crd, True)

    assert crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {"type": "string", "enum": ["a", None]}


def test_defaults_are_filled_in() -> None:
    """Names are derived from the kind, the conversion is None, and the storage version counts as stored."""
    crd = decoded(body())

    assert crd["spec"]["names"] == {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"] == {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": ["v1"],
    }


def test_a_webhooks_service_gets_the_https_port() -> None:
    """A service reference without a port means 443."""
    client = {"service": {"namespace": "default", "name": "w"}}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}

    crd = decoded(body(conversion={"strategy": "Webhook", "webhook": webhook}))

    assert crd["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] == 443


def test_a_body_nested_too_deeply_is_refused() -> None:
    """A schema of several thousand levels is an error of the body, not of the server."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(5000):
        schema = {"type": "object", "properties": {"a": schema}}
    crd = body()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema

    with pytest.raises(ValueError, match="exceeded max depth"):
        CRDCodec().decode_body(crd, False)


@pytest.mark.parametrize("record", records("stored"), ids=lambda record: record["served"]["metadata"]["name"])
def test_stored_bytes_are_those_of_the_reference(record: dict[str, Any]) -> None:
    """What kube-apiserver stores is read as it serves it, and written back byte by byte; so is what it serves."""
    stored = record["stored"].encode()

    served = CRDCodec().decode(stored)

    assert record["served"] == served
    assert stored == CRDCodec().encode(served)
    assert stored == CRDCodec().encode(decoded(record["served"]))


def test_the_resource_version_is_not_stored() -> None:
    """An object's revision is the store's, and stands in no value."""
    crd = decoded(body())
    crd["metadata"]["resourceVersion"] = "5"

    assert b"resourceVersion" not in CRDCodec().encode(crd)


def test_what_is_stored_as_v1_is_read_too() -> None:
    """A value in v1 gives the same definition as one in v1beta1."""
    crd = decoded(body())

    assert crd == CRDCodec().decode(json_codec.dumps(crd))


def test_a_stored_v1beta1_definition_of_old_is_read_with_its_defaults() -> None:
    """Without versions the single version counts; unknown fields are kept, as they were before structural schemas."""
    spec = {"group": "example.com", "version": "v1", "names": {"plural": "foos", "kind": "Foo"}}
    old = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"}}

    crd = CRDCodec().decode(json.dumps(old | {"spec": spec}).encode())

    assert crd["spec"]["versions"] == [{"name": "v1", "served": True, "storage": True}]
    assert crd["spec"]["scope"] == "Namespaced"
    assert crd["spec"]["preserveUnknownFields"] is True
    assert crd["status"]["storedVersions"] == ["v1"]


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"kind":"Foo"}', b"{"])
def test_other_values_are_no_definitions(data: bytes) -> None:
    """Bytes that hold something else are refused."""
    with pytest.raises(ValueError, match=r".+"):
        CRDCodec().decode(data)


@pytest.mark.skipif(not FILES, reason=NO_REAL)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_definitions_survive_the_store(path: Path) -> None:
    """A published definition is written and read back without a change, and has no field that the type lacks."""
    crd = json_codec.loads(path.read_bytes())

    strict = CRDCodec().decode_body(crd, True)
    stored = CRDCodec().encode(crd)
    read = CRDCodec().decode(stored)

    assert strict == []
    if crd["spec"]["versions"]:  # some of the files are fragments that only set a webhook
        assert crd == read
        assert stored == CRDCodec().encode(read)
        assert stored == CRDCodec().encode(json_codec.loads(json_codec.dumps(read)))
    assert crd == canonical(crd)
