"""Recorded responses of the reference that tests compare with (data/README.md)."""

import json
from pathlib import Path
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.field import FieldError
from apiext.resources.definitions.codec import CRDCodec
from tests.support.builders.crds import crd, version

_DATA: Final = Path(__file__).parent / "data"


def records(name: str) -> list[dict[str, Any]]:
    """Return the records of one file. Numbers are parsed as the server parses them."""
    return [json_codec.loads(line) for line in (_DATA / f"{name}.jsonl").read_bytes().splitlines()]


def decoded(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request body in canonical form."""
    found: dict[str, Any] = json.loads(json.dumps(body))
    CRDCodec().decode_body(found, False)
    return found


def pairs(errors: list[FieldError]) -> list[list[str]]:
    """Return field errors in the form of the records."""
    causes = [error.cause() for error in errors]
    return sorted([cause.get("field", ""), cause["message"]] for cause in causes)


def body(**spec: Any) -> dict[str, Any]:
    """Return the smallest valid definition, with some fields of its spec replaced."""
    only = version("v1", storage=True, schema={"type": "object"})
    return crd("foos", only, **({"names": {"plural": "foos", "kind": "Foo"}} | spec))
