"""Defaults of a version in which objects are not stored."""

from typing import Any

import pytest

from tests.support.builders.conversions import fields
from tests.support.builders.crds import crd, version
from tests.support.servers.in_process import InProcess

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


def _schema(**mode: Any) -> dict[str, Any]:
    return fields(spec=fields(size="integer", mode={"type": "string"} | mode))


@pytest.mark.parametrize("content_type, patch", [(MERGE, {}), (MERGE, {"spec": {"size": 1}}), (JSON_PATCH, [])])
async def test_a_patch_without_a_change_sets_defaults(content_type: str, patch: Any) -> None:
    """Take a default of the version as a change by the client: the object that is read lacks it. kube-apiserver does the same."""
    versions = (version("v1", storage=True, schema=_schema()), version("v2", storage=False, schema=_schema(default="fast")))
    async with InProcess() as server:
        await server.define(crd("widgets", *versions))
        await server.ask("POST", V1, WIDGET)
        read = await server.ask("GET", f"{V2}/a")
        patched = await server.ask("PATCH", f"{V2}/a?fieldManager=patcher", patch, Content_Type=content_type)

    assert read.json["spec"] == {"size": 1}
    assert (patched.status, patched.json["spec"]) == (200, {"size": 1, "mode": "fast"})
    assert patched.json["metadata"]["generation"] == 2
    managers = {entry["manager"]: entry["fieldsV1"] for entry in patched.json["metadata"]["managedFields"]}
    assert managers["patcher"] == {"f:spec": {"f:mode": {}}}
