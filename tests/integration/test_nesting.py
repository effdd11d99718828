"""Tests of requests at the depth limit, which a real server handles within Python's default recursion limit."""

import http.client
from typing import Any, Final

import pytest

from apiext.base.meta.limits import MAX_DEPTH
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.client import CRDS, Client

LEVELS: Final = MAX_DEPTH - 8
"""Levels of the schema of spec, so that the definition has MAX_DEPTH."""


def _schema(keyword: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(LEVELS):
        schema = {"type": "array" if keyword == "items" else "object", keyword: schema, "minItems": 0, "maxItems": 9, "maxProperties": 9}
    return schema


def _value(keyword: str, leaf: Any) -> Any:
    value = leaf
    for _ in range(LEVELS):
        value = [value] if keyword == "items" else {"a": value}
    return value


@pytest.mark.parametrize("keyword", ["items", "additionalProperties"])
def test_serves_the_deepest_definition(client: Client, keyword: str) -> None:
    """Accept a definition of MAX_DEPTH levels, validate objects to the innermost schema, and publish the schema in every form."""
    group = f"{keyword.lower()}.nesting.example.com"
    root = {"type": "object", "properties": {"spec": _schema(keyword)}}
    client.define(crd("widgets", version("v1", storage=True, schema=root), group=group))
    path = f"/apis/{group}/v1/namespaces/default/widgets"
    obj = widget(group=group)

    assert client.ask("POST", path, obj | {"spec": _value(keyword, 1)}).status == http.client.UNPROCESSABLE_ENTITY
    assert client.ask("POST", path, obj | {"spec": _value(keyword, "x")}).status == http.client.CREATED
    for form in ("application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1"):
        assert client.ask("GET", path, headers={"Accept": form}).status == http.client.OK
    for name, spec in (("/openapi/v2", "v2@"), (f"/openapi/v3/apis/{group}/v1", "v3@")):
        for headers in ({}, {"Accept": f"application/com.github.proto-openapi.spec.{spec}v1.0+protobuf"}):
            assert client.ask("GET", name, headers=headers).status == http.client.OK
    stored = client.ask("GET", f"{CRDS}/widgets.{group}", headers={"Accept": "application/vnd.kubernetes.protobuf"})
    assert stored.status == http.client.OK
    protobuf = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    assert client.ask("PUT", f"{CRDS}/widgets.{group}?dryRun=All", stored.body, protobuf).status == http.client.OK
