"""Recorded responses of the reference that tests compare with (data/README.md)."""

import json
from pathlib import Path
from typing import Any, Final

from apiext.definitions.codec import CRDCodec
from apiext.meta import json_codec
from apiext.meta.field import FieldError

_DATA: Final = Path(__file__).parent / "data"


def records(name: str) -> list[dict[str, Any]]:
    """Return the records of one file. Numbers are parsed as the server parses them."""
    return [json_codec.loads(line) for line in (_DATA / f"{name}.jsonl").read_bytes().splitlines()]


def decoded(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request body in canonical form."""
    crd: dict[str, Any] = json.loads(json.dumps(body))
    CRDCodec().decode_body(crd, False)
    return crd


def pairs(errors: list[FieldError]) -> list[list[str]]:
    """Return field errors in the form of the records."""
    causes = [error.cause() for error in errors]
    return sorted([cause.get("field", ""), cause["message"]] for cause in causes)


def body(**spec: Any) -> dict[str, Any]:
    """Return the smallest valid definition, with some fields of its spec replaced."""
    schema = {"openAPIV3Schema": {"type": "object"}}
    base = {
        "group": "example.com",
        "names": {"plural": "foos", "kind": "Foo"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": base | spec,
    }
