"""Tests with the definitions of real projects: they are served and published, and their objects are kept."""

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.differential.generated_objects import generate, generate_resource
from hack.lib.real_crds import NO_REAL, REAL, real_crds, without_rules
from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.process import environment
from tests.support.builders.seeds import seeded
from tests.support.clients.client import CRDS, Client

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)

DEFINITIONS: Final = {crd["metadata"]["name"]: crd for crd in without_rules(real_crds())}
TRIES: Final = 8
TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
AGGREGATED: Final = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server with all definitions."""
    with ApiextServer(tmp_path_factory.mktemp("real")) as started:
        with Client(started) as client:
            for crd in DEFINITIONS.values():
                client.must("POST", CRDS, crd)
            for name in DEFINITIONS:
                client.until_established(name)
        yield started


def _served(crd: dict[str, Any]) -> list[dict[str, Any]]:
    return [version for version in crd["spec"]["versions"] if version["served"]]


def _convertible(crd: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the served versions whose objects need no conversion webhook: webhooks are not called yet."""
    webhook = crd["spec"].get("conversion", {}).get("strategy") == "Webhook"
    return [version for version in _served(crd) if version["storage"] or not webhook]


def _collection(crd: dict[str, Any], version: str) -> str:
    spec = crd["spec"]
    scope = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{spec['group']}/{version}/{scope}{spec['names']['plural']}"


def _schema(version: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def _holds(whole: Any, part: Any) -> bool:
    """Report whether `whole` contains all of `part`; a default may have replaced null."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(value is None or (key in whole and _holds(whole[key], value)) for key, value in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(_holds, whole, part))
    return bool(whole == part)


def _without_revision(obj: dict[str, Any]) -> dict[str, Any]:
    return obj | {"metadata": obj["metadata"] | {"resourceVersion": ""}}


def _stored(client: Client, crd: dict[str, Any], version: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Create generated objects until one is accepted; return it and the response."""
    refusals = []
    api_version = f"{crd['spec']['group']}/{version['name']}"
    for attempt in range(TRIES):
        rng = seeded((crd["metadata"]["name"], version["name"], attempt))
        sent = generate_resource(_schema(version), rng, api_version=api_version, kind=crd["spec"]["names"]["kind"])
        sent["metadata"]["name"] = f"generated-{uuid.uuid4()}"
        reply = client.ask("POST", _collection(crd, version["name"]) + "?fieldValidation=Strict", sent)
        if reply.status == 201:
            return sent, reply.json
        assert reply.status in {400, 422}, reply.body
        refusals.append(reply.json["message"])
    raise AssertionError(refusals)


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_round_trip(client: Client, name: str) -> None:
    """Keep all specified fields of an object, return it in each served version, and change nothing on its own update."""
    crd = DEFINITIONS[name]
    stored_as = next(version for version in crd["spec"]["versions"] if version["storage"])
    sent, created = _stored(client, crd, stored_as)
    kept = {key: value for key, value in sent.items() if key not in {"metadata", "status"}}
    assert _holds(created, kept)
    if "status" not in stored_as.get("subresources", {}):
        assert _holds(created, {"status": sent.get("status")})

    for version in _convertible(crd):
        path = f"{_collection(crd, version['name'])}/{created['metadata']['name']}"
        found = client.must("GET", path)
        assert found["apiVersion"].endswith(f"/{version['name']}")
        assert found["metadata"] == created["metadata"]
        if _schema(version) == _schema(stored_as):
            assert found | {"apiVersion": ""} == created | {"apiVersion": ""}
            # The first update may store defaults that reads fill in until then.
            updated = client.must("PUT", path, found)
            assert _without_revision(updated) == _without_revision(found)
            assert client.must("PUT", path, updated) == updated
            created = client.must("GET", f"{_collection(crd, stored_as['name'])}/{created['metadata']['name']}")
        else:
            assert _holds(created, {key: value for key, value in found.items() if key != "apiVersion"})


@pytest.mark.parametrize("name", [name for name, crd in sorted(DEFINITIONS.items()) if len(_convertible(crd)) > 1])
def test_every_version_accepts_objects(client: Client, name: str) -> None:
    """Create an object in each served version, and read the created object there."""
    crd = DEFINITIONS[name]
    for version in _convertible(crd):
        _, created = _stored(client, crd, version)

        assert client.must("GET", f"{_collection(crd, version['name'])}/{created['metadata']['name']}") == created


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_status(client: Client, name: str) -> None:
    """Keep all specified fields of a status and the rest of the object."""
    crd = DEFINITIONS[name]
    version = next(version for version in crd["spec"]["versions"] if version["storage"])
    schema = _schema(version)["properties"].get("status")
    if "status" not in version.get("subresources", {}) or schema is None:
        return
    _, created = _stored(client, crd, version)
    path = f"{_collection(crd, version['name'])}/{created['metadata']['name']}"
    tries = (generate(schema, seeded((name, "status", attempt))) for attempt in range(TRIES))
    replies = ((status, client.ask("PUT", f"{path}/status", created | {"status": status})) for status in tries)
    status, reply = next((status, reply) for status, reply in replies if reply.status == 200)

    assert _holds(reply.json["status"], status)
    assert reply.json["metadata"]["generation"] == created["metadata"]["generation"]
    assert reply.json.get("spec") == created.get("spec")
    assert client.must("GET", path) == reply.json


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_table(client: Client, name: str) -> None:
    """List each served version as a table with a cell for each column."""
    crd = DEFINITIONS[name]
    for version in _convertible(crd):
        _, created = _stored(client, crd, version)
        table = client.must("GET", _collection(crd, version["name"]), headers=TABLE)
        columns = [column["name"] for column in version.get("additionalPrinterColumns") or [{"name": "Age"}]]

        assert table["kind"] == "Table"
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", *columns]
        assert {len(row["cells"]) for row in table["rows"]} == {1 + len(columns)}
        assert created["metadata"]["name"] in {row["cells"][0] for row in table["rows"]}


def test_discovery(client: Client) -> None:
    """Publish every served version of every definition in plain and aggregated discovery."""
    wanted = {
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["plural"], crd["spec"]["names"]["kind"])
        for crd in DEFINITIONS.values()
        for version in _served(crd)
    }
    aggregated = {
        (group["metadata"]["name"], version["version"], one["resource"], one["responseKind"]["kind"])
        for group in client.must("GET", "/apis", headers=AGGREGATED)["items"]
        for version in group["versions"]
        for one in version["resources"]
    }
    plain = {
        (group["name"], version["version"], one["name"], one["kind"])
        for group in client.must("GET", "/apis")["groups"]
        for version in group["versions"]
        for one in client.must("GET", f"/apis/{version['groupVersion']}")["resources"]
    }

    assert wanted <= aggregated
    assert wanted <= plain


def test_openapi(client: Client) -> None:
    """Publish OpenAPI v3 documents and a v2 document that parse and describe each kind."""
    paths = client.must("GET", "/openapi/v3")["paths"]
    described: set[tuple[str, str, str]] = set()
    for path in paths.values():
        for schema in client.must("GET", path["serverRelativeURL"]).get("components", {}).get("schemas", {}).values():
            described |= {(gvk["group"], gvk["version"], gvk["kind"]) for gvk in schema.get("x-kubernetes-group-version-kind", [])}
    in_v2 = {
        (gvk["group"], gvk["version"], gvk["kind"])
        for schema in client.must("GET", "/openapi/v2")["definitions"].values()
        for gvk in schema.get("x-kubernetes-group-version-kind", [])
    }
    wanted = {
        (crd["spec"]["group"], version["name"], crd["spec"]["names"]["kind"]) for crd in DEFINITIONS.values() for version in _served(crd)
    }

    assert wanted <= described
    assert wanted <= in_v2


@pytest.mark.parametrize(
    "field, text",
    [
        ("gateways.spec.listeners", "FIELD: listeners <[]Object>"),
        ("scaledobjects.spec.triggers", "FIELD: triggers <[]Object>"),
        ("certificates.spec", "dnsNames\t<[]string>"),
        ("machines.spec.bootstrap", "FIELD: bootstrap <Object>"),
    ],
)
def test_explain(server: ApiextServer, tmp_path: Path, field: str, text: str) -> None:
    """Explain fields of real definitions with the real kubectl."""
    command = [str(binaries.binary("kubectl")), f"--kubeconfig={server.kubeconfig}", f"--cache-dir={tmp_path}", "explain", field]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())

    assert done.returncode == 0, done.stderr
    assert text in done.stdout


@pytest.mark.parametrize("name", [name for name, crd in sorted(DEFINITIONS.items()) if len(_convertible(crd)) < len(_served(crd))])
def test_fails_without_the_webhook(client: Client, name: str) -> None:
    """Answer 500 to valid objects in a version that only a conversion webhook could store, which nobody runs."""
    crd = DEFINITIONS[name]
    kind = crd["spec"]["names"]["kind"]
    for version in _served(crd):
        if version["storage"]:
            continue
        api_version = f"{crd['spec']['group']}/{version['name']}"
        tries = [seeded((name, version["name"], attempt)) for attempt in range(TRIES)]
        objects = [generate_resource(_schema(version), rng, api_version=api_version, kind=kind) for rng in tries]
        for obj in objects:
            obj["metadata"]["name"] = f"refused-{uuid.uuid4()}"
        statuses = {client.ask("POST", _collection(crd, version["name"]), obj).status for obj in objects}

        assert 500 in statuses
        assert statuses <= {400, 422, 500}
