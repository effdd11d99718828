"""Redaction of objects."""

import json
from typing import Any, Final

from apiext.resources.evaluation.compiled_version import version_schemas
from apiext.tools.recordings.field_path import parse_field_path
from apiext.tools.recordings.redaction import Redactor
from tests.support.builders.crds import crd, definition, version, widget

TEXT: Final[dict[str, Any]] = {"type": "string"}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "login": TEXT | {"format": "password"},
                "token": TEXT | {"pattern": "^[a-z]{3}-[0-9]+$"},
                "mode": TEXT,
                "replicas": {"type": "integer", "minimum": 1},
                "keys": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                "secret": {"type": "object", "properties": {"name": TEXT, "value": TEXT}},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}
DEFINITION: Final = definition(crd("widgets", version("v1", storage=True, schema=SCHEMA)))


def _redacted(*paths: str, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    redactor = Redactor(DEFINITION, [parse_field_path(path) for path in paths])
    return redactor.redact(widget(metadata=metadata, **spec))


def test_redacts_secrets_only() -> None:
    """Replace fields with format password and those named like secrets; keep references and the rest."""
    spec = _redacted(login="x", token="abc-12", mode="fast", secret={"name": "ref", "value": "hidden"}, replicas=3)["spec"]

    assert spec == {
        "login": "redacted-1",
        "token": "xxx-00",
        "mode": "fast",
        "secret": {"name": "ref", "value": "redacted-3"},
        "replicas": 3,
    }


def test_redacts_unspecified_fields() -> None:
    """Find secrets below fields without a schema: variables, URLs with passwords, data of secrets."""
    given = {
        "env": [{"name": "DB_PASSWORD", "value": "x"}, {"name": "MODE", "value": "x"}],
        "url": "postgres://u:p@h/db",
        "passwordRef": {"name": "n", "key": "password"},
        "secret": {"data": {"name": "y"}, "secretName": "s"},
        "tokens": ["t", {"audience": "a"}],
        "nothing": None,
    }

    assert _redacted(any=given)["spec"]["any"] == {
        "env": [{"name": "DB_PASSWORD", "value": "redacted-1"}, {"name": "MODE", "value": "x"}],
        "url": "redacted-2",
        "passwordRef": {"name": "n", "key": "password"},
        "secret": {"data": {"name": "redacted-3"}, "secretName": "s"},
        "tokens": ["redacted-4", {"audience": "a"}],
        "nothing": None,
    }


def test_redacts_the_data_of_secret_kinds() -> None:
    """Replace the data of kinds that are secrets."""
    obj = {"apiVersion": "example.org/v1", "kind": "VaultSecret", "metadata": {"name": "a"}, "data": {"name": "x"}, "mode": "y"}

    assert Redactor(DEFINITION).redact(obj) == obj | {"data": {"name": "redacted-1"}}


def test_redacts_named_paths() -> None:
    """Replace texts and numbers at the paths of the user."""
    found = _redacted(
        "spec.mode",
        "spec.replicas",
        "spec.keys[]",
        "metadata.labels.team",
        mode="m",
        replicas=7,
        keys=["a", "b"],
        metadata={"labels": {"team": "x", "tier": "y"}},
    )

    assert found["spec"] == {"mode": "redacted-2", "replicas": 1, "keys": ["redacted-3", "redacted-4"]}
    assert found["metadata"]["labels"] == {"team": "redacted-1", "tier": "y"}


def test_repeated_objects_are_equal() -> None:
    """Replace the same values in last-applied-configuration and in managedFields."""
    applied = widget(keys=["a"], token="abc-12", any={"token": "t"})
    fields = {"f:spec": {"f:keys": {".": {}, 'v:"a"': {}, 'v:"b"': {}}, "f:token": {}, "f:any": {'k:{"token":"t"}': {".": {}}}}}
    found = _redacted(
        "spec.keys",
        keys=["a", "b"],
        token="abc-12",
        any={"token": "t"},
        metadata={
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied) + "\n",
                "example.com/api-key": '{"a": "x"}',
                "objectset.rio.cattle.io/applied": "H4sIAAAA",
                "note": "{not json",
            },
            "managedFields": [{"manager": "m", "fieldsV1": fields}, {"manager": "n"}],
        },
    )
    notes, spec = found["metadata"]["annotations"], found["spec"]
    (entry, other) = found["metadata"]["managedFields"]

    repeated = notes.pop("kubectl.kubernetes.io/last-applied-configuration")
    assert json.loads(repeated)["spec"] == {"keys": [spec["keys"][0]], "token": spec["token"], "any": spec["any"]}
    assert repeated.endswith("}\n")
    assert set(entry["fieldsV1"]["f:spec"]["f:keys"]) == {".", *(f'v:"{key}"' for key in spec["keys"])}
    assert list(entry["fieldsV1"]["f:spec"]["f:any"]) == [f'k:{{"token":"{spec["any"]["token"]}"}}']
    assert other == {"manager": "n"}
    assert notes["note"] == "{not json"
    assert "x" not in notes["example.com/api-key"]
    assert notes["objectset.rio.cattle.io/applied"].startswith("redacted-")


def test_keeps_objects_valid() -> None:
    """Return an object that the schema accepts, and leave the given one."""
    given = widget(login="x", token="abc-1", keys=["-----BEGIN PRIVATE KEY-----1", "-----BEGIN PRIVATE KEY-----2"])
    before = json.dumps(given)
    found = Redactor(DEFINITION).redact(given)

    assert json.dumps(given) == before
    assert version_schemas(DEFINITION)["v1"].is_valid(found)
    assert found["spec"]["keys"] == ["redacted-3", "redacted-4"]


def test_replaces_deep_annotations() -> None:
    """Replace the JSON of an annotation as a whole if it is nested deeper than the server admits."""
    text = '{"token":' + "[" * 900 + '"x"' + "]" * 900 + "}"

    assert _redacted(metadata={"annotations": {"a": text}})["metadata"]["annotations"] == {"a": "redacted-1"}
