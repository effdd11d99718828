"""What a webhook has converted, after changes of the definition."""

import copy
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.support.builders.crds import widget, widget_crd
from tests.support.conversion_webhook import ConversionWebhook
from tests.support.servers.in_process import CRDS, InProcess

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = V1.replace("/v1/", "/v2/")
CRD = f"{CRDS}/widgets.example.com"

Served = tuple[InProcess, ConversionWebhook]


@pytest.fixture
async def served(webhook: ConversionWebhook) -> AsyncIterator[Served]:
    """Yield a server with a widget that was read in v2, which needs the webhook."""
    async with InProcess() as server:
        await server.define(widget_crd(served=("v1", "v2"), conversion=webhook.conversion()))
        await server.ask("POST", V1, widget())
        assert (await server.ask("GET", V2)).status == 200
        yield server, webhook


async def change(server: InProcess, edit: Callable[[Any], None]) -> None:
    """Change the specification of the definition."""
    crd = (await server.ask("GET", CRD)).json
    edit(crd["spec"])
    answer = await server.ask("PUT", CRD, crd)
    assert answer.status == 200, answer.body


def flip(spec: Any) -> None:
    """Store v2."""
    for version in spec["versions"]:
        version["storage"] = version["name"] == "v2"


def drop_columns(spec: Any) -> None:
    """Remove the printer columns."""
    for version in spec["versions"]:
        version.pop("additionalPrinterColumns")


def add_version(spec: Any) -> None:
    """Add a third version."""
    spec["versions"].append({**copy.deepcopy(spec["versions"][0]), "name": "v3", "storage": False})


def require(version: int) -> Callable[[Any], None]:
    """Return a change of the schema of a version."""

    def edit(spec: Any) -> None:
        spec["versions"][version]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["more"] = {"type": "string"}

    return edit


def accept_v1beta1(spec: Any) -> None:
    """Change the conversion."""
    spec["conversion"]["webhook"]["conversionReviewVersions"] = ["v1", "v1beta1"]


@pytest.mark.parametrize("edit", [flip, drop_columns, add_version])
async def test_changes_that_do_not_matter_keep_conversions(served: Served, edit: Callable[[Any], None]) -> None:
    """Convert nothing again after changes that cannot change a conversion, also after two of them; the cache goes on."""
    server, webhook = served
    await change(server, edit)
    await change(server, lambda spec: spec["names"].update(shortNames=["wd"]))
    before = len(webhook.calls)
    listed = await server.ask("GET", V2)
    read = await server.ask("GET", f"{V2}/a")

    assert listed.json["items"][0]["apiVersion"] == "example.com/v2"
    assert read.json["apiVersion"] == "example.com/v2"
    assert len(webhook.calls) == before
    patched = await server.ask("PATCH", f"{V1}/a", '{"spec":{"size":"l"}}', Content_Type="application/merge-patch+json")
    assert patched.status == 200
    assert (await server.ask("GET", V2)).json["items"][0]["spec"]["size"] == "l"


@pytest.mark.parametrize("edit", [require(0), require(1), accept_v1beta1])
async def test_changes_that_matter_drop_conversions(served: Served, edit: Callable[[Any], None]) -> None:
    """Convert again after a change of a schema or of the conversion."""
    server, webhook = served
    await change(server, edit)
    before = len(webhook.calls)
    assert (await server.ask("GET", V2)).status == 200
    assert len(webhook.calls) == before + 1


async def test_a_write_that_changes_nothing_converts_once_for_its_managers(served: Served) -> None:
    """Store an object in the new storage version with one call for all managers of the old one, which own the same fields as before."""
    server, webhook = served
    await change(server, flip)
    found = (await server.ask("GET", f"{V2}/a")).json
    before, patch = len(webhook.calls), {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}}
    answer = await server.ask("PATCH", f"{V2}/a", patch, Content_Type="application/merge-patch+json")

    assert answer.json["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]
    assert answer.json["metadata"]["managedFields"] == found["metadata"]["managedFields"]
    assert [entry["apiVersion"] for entry in found["metadata"]["managedFields"]] == ["example.com/v1"]
    targets = [json.loads(call.body)["request"]["desiredAPIVersion"] for call in webhook.calls[before:]]
    assert targets == ["example.com/v1"]
