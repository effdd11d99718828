"""`apiext convert` against a running server."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from apiext.cli.main import apiext
from apiext.resources.conversion.rules.definition import conversion_definition
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.waiting import until
from tests.support.builders.conversions import conversion
from tests.support.builders.crds import crd, version, widget
from tests.support.builders.related_versions import INTEGER, STRING, obj
from tests.support.clients.client import CRDS, MERGE_PATCH, Client

GROUP: Final = "convert.example.com"
NAME: Final = f"widgets.{GROUP}"
CONVERSIONS: Final = "/apis/conversions.apiext.dev/v1alpha1/conversions"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
RENAME: Final = {"rename": {"path": "spec.size", "to": "capacity"}}


@pytest.fixture(scope="module")
def served(server: ApiextServer) -> ApiextServer:
    """Serve a CRD with two versions, and two objects of the storage version."""
    spoke, hub = obj(spec=obj(size=INTEGER, old=STRING)), obj(spec=obj(capacity=INTEGER))
    definition = crd("widgets", version("v1", schema=spoke, storage=True), version("v2", schema=hub), group=GROUP)
    with Client(server) as client:
        client.ask("POST", CRDS, definition)
        until(lambda: client.ask("POST", WIDGETS, widget("a", group=GROUP, size=3, old="x")).status == 201)
        assert client.ask("POST", WIDGETS, widget("b", group=GROUP, size=4)).status == 201
    return server


def _run(server: ApiextServer, *arguments: str) -> str:
    done = CliRunner().invoke(apiext, ["convert", *arguments, "--kubeconfig", str(server.kubeconfig)], standalone_mode=False)
    assert done.exception is None, done.exception
    assert (done.return_value or 0) == 0, done.output
    return done.output


def test_rules_are_drafted_checked_and_tried_on_a_server(served: ApiextServer, tmp_path: Path) -> None:
    """Read the CRD and its objects from the server."""
    draft = _run(served, "init", "kubeconfig", "--name", NAME)
    file = tmp_path / "conversion.yaml"
    file.write_text(yaml.safe_dump(conversion(name=NAME, v1=[RENAME])))

    checked = _run(served, "check", str(file), "--crds", "kubeconfig")
    tried: Any = json.loads(
        _run(served, "test", str(file), "--crds", "kubeconfig", "--objects", "kubeconfig", "--examples", "0", "-o", "json")
    )

    assert f"name: {NAME}" in draft
    assert "old of v1 has no counterpart in v2" in draft
    assert checked.splitlines() == ["  carried: spec.old of v1, which v2 does not have", f"{NAME}: valid, 0 problems, 0 warnings"]
    (there,) = [pair for pair in tried["pairs"] if pair["source"] == "v1"]
    assert (there["objects"], there["carrying"], there["counterexample"]) == (2, 1, None)


def _define(client: Client) -> None:
    """Serve Conversion objects by the definition that the command prints."""
    found = CliRunner().invoke(apiext, ["convert", "definition"], standalone_mode=False)
    definition = yaml.safe_load(found.output)
    assert definition == conversion_definition()
    assert client.ask("POST", CRDS, definition).status in (201, 409)
    until(lambda: client.ask("GET", CONVERSIONS).status == 200)


def test_a_server_accepts_the_printed_definition(client: Client) -> None:
    """Serve Conversion objects with the status subresource, and refuse wrong ones."""
    _define(client)
    document = conversion(name="gadgets.convert.example.com", v1=[RENAME])

    assert client.ask("POST", CONVERSIONS, document).status == 201
    reply = client.ask("POST", CONVERSIONS, conversion(name="things.convert.example.com", v1=[{}]))

    assert reply.status == 422
    assert "a rule must have exactly one member of rename, move, " in reply.json["message"]
    assert client.ask("GET", f"{CONVERSIONS}/gadgets.convert.example.com/status").status == 200


def _conditions(client: Client, name: str) -> dict[str, str]:
    status = client.ask("GET", f"{CONVERSIONS}/{name}").json.get("status") or {}
    return {each["type"]: f"{each['status']} {each['reason']}" for each in status.get("conditions", ())}


def test_the_status_says_whether_rules_fit(client: Client) -> None:
    """Check rules after each change of them or of their CRD, and report problems with paths."""
    _define(client)
    group = "status.convert.example.com"
    name = f"widgets.{group}"
    spoke, hub = obj(spec=obj(size=INTEGER)), obj(spec=obj(capacity=INTEGER))
    assert client.ask("POST", CONVERSIONS, conversion(name=name, v1=[RENAME])).status == 201
    until(lambda: _conditions(client, name).get("Valid") == "Unknown DefinitionNotFound")

    assert (
        client.ask("POST", CRDS, crd("widgets", version("v1", schema=spoke), version("v2", schema=hub, storage=True), group=group)).status
        == 201
    )
    until(lambda: _conditions(client, name).get("Valid") == "True Checked")
    assert _conditions(client, name)["InUse"].startswith("True ")

    wrong = {"rename": {"path": "spec.size", "to": "kapacity"}}
    patch = {"spec": {"spokes": [{"version": "v1", "rules": [wrong]}]}}
    assert client.ask("PATCH", f"{CONVERSIONS}/{name}", patch, headers=MERGE_PATCH).status == 200
    until(lambda: _conditions(client, name).get("Valid") == "False InvalidRules")
    found = client.ask("GET", f"{CONVERSIONS}/{name}").json
    assert found["status"]["problems"][0] == {
        "path": "spec.spokes[0].rules[0].rename.to",
        "message": "v2 has no field spec.kapacity",
    }
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"] == 2

    versions = [version("v1", schema=spoke), version("v2", schema=obj(spec=obj(kapacity=INTEGER)), storage=True)]
    assert client.ask("PATCH", f"{CRDS}/{name}", {"spec": {"versions": versions}}, headers=MERGE_PATCH).status == 200
    until(lambda: _conditions(client, name) == {"Valid": "True Checked", "InUse": _conditions(client, name)["InUse"]})
    assert "problems" not in client.ask("GET", f"{CONVERSIONS}/{name}").json["status"]
