"""Metadata from the JSON of an object."""

from typing import Any

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.objectmeta.raw_metadata import metadata_json, read_metadata

METADATA = {"annotations": {"q": 'a "quoted" \\ { [ é \u2028 <b>'}, "managedFields": [{"fieldsV1": {"f:x": {}}}] * 200, "name": "a"}
TYPE = {"apiVersion": "ex.com/v1", "kind": "Widget"}


@pytest.mark.parametrize(
    "obj",
    [
        {**TYPE, "metadata": METADATA, "spec": {"metadata": 1}},
        {"kind": "Widget", "apiVersion": "v1", "metadata": METADATA},
        {**TYPE, "data": {"metadata": {}}, "metadata": METADATA},
        {**TYPE, "metadata": {"name": "é" * 3000}},
        {"apiVersion": 'a"b', "kind": "Widget", "metadata": {"name": "a"}},
        {**TYPE, "metadata": {"deep": json_codec.loads(b"[" * 200 + b"]" * 200), "n": 10**18}},
        {**TYPE, "spec": {}},
        {**TYPE, "metadata": None},
    ],
)
def test_returns_the_metadata(obj: dict[str, Any]) -> None:
    """Return the same bytes as encoding the parsed metadata, wherever they stand."""
    data = json_codec.dumps(obj, sort_keys=False)

    assert metadata_json(data) == json_codec.dumps(obj.get("metadata") or {}, sort_keys=False)
    assert read_metadata(data) == (obj.get("metadata") or {})


def test_does_not_parse_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read an object whose rest is huge without parsing it."""
    data = json_codec.dumps({**TYPE, "metadata": METADATA, "spec": ["x"] * 100_000})
    monkeypatch.delattr(json_codec, "loads")

    assert metadata_json(data) == json_codec.dumps(METADATA)
