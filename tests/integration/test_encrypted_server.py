"""A server that encrypts: its values, health and metrics, commands that read its store, and a change of the key."""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.storage.sqlite import schema
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version, widget
from tests.support.builders.encryption import IDENTITY, keyed, write_configuration
from tests.support.clients.client import MERGE_PATCH, Client

NAME: Final = "widgets.example.com"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
SECRETS: Final = "/api/v1/namespaces/default/secrets"
_RELOADED: Final = r'automatic_reloads_total\{apiserver_id_hash="[^"]*",status="success"\} 1\.0'
RESOURCES: Final = ["*.example.com", "secrets"]
MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
BUILT_IN: Final[dict[tuple[str, str], tuple[str, dict[str, Any]]]] = {
    ("", "configmaps"): ("api/v1/namespaces/default", {}),
    ("", "services"): ("api/v1/namespaces/default", {"spec": {"ports": [{"port": 80}]}}),
    ("rbac.authorization.k8s.io", "roles"): ("apis/rbac.authorization.k8s.io/v1/namespaces/default", {"rules": []}),
    ("scheduling.k8s.io", "priorityclasses"): ("apis/scheduling.k8s.io/v1", {"value": 1}),
}
"""Paths and members of objects by group and resource."""
STORED: Final = {
    ("", "configmaps"): "/registry/configmaps/default/a",
    ("", "services"): "/registry/services/specs/default/a",
    ("rbac.authorization.k8s.io", "roles"): "/registry/roles/default/a",
    ("scheduling.k8s.io", "priorityclasses"): "/registry/priorityclasses/a",
}
"""The keys of these objects."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the configuration of the server."""
    path = tmp_path_factory.mktemp("encryption") / "encryption.json"
    return write_configuration(path, (RESOURCES, [keyed("secretbox", "key1"), IDENTITY]))


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory, file: Path) -> Iterator[ApiextServer]:
    """Start a server with an object and a Secret."""
    flags = [f"--encryption-provider-config={file}", "--encryption-provider-config-automatic-reload"]
    with ApiextServer(tmp_path_factory.mktemp("apiext"), extra_args=flags) as server:
        with Client(server) as client:
            client.define(crd("widgets", version("v1", storage=True)))
            client.must("POST", WIDGETS, widget("a", size="m"))
            client.must(
                "POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "a"}, "stringData": {"password": "open sesame"}}
            )
        yield server


def run(*arguments: str) -> str:
    """Run a command and return what it prints."""
    return subprocess.run([sys.executable, "-m", "apiext", *arguments], capture_output=True, text=True, timeout=60, check=True).stdout


def stored(server: ApiextServer, key: str) -> bytes:
    """Return the stored value of a key."""
    with closing(sqlite3.connect(f"file:{server.data_dir / 'apiext.db'}?mode=ro", uri=True)) as database:
        ((_, value),) = database.execute(schema.GET, [key])
    return bytes(value)


def test_values_are_encrypted(encrypted: ApiextServer) -> None:
    """Custom resources and built-in kinds are encrypted, other resources are not."""
    for key in ("example.com/widgets/default/a", "secrets/default/a"):
        assert stored(encrypted, f"/registry/{key}").startswith((b"k8s:enc:secretbox:v1:key1:", b"k8s:enc:aescbc:v1:key2:"))
    assert stored(encrypted, f"/registry/apiextensions.k8s.io/customresourcedefinitions/{NAME}").startswith(b"{")


def test_commands_read_the_store(encrypted: ApiextServer, file: Path) -> None:
    """With the file, commands show what is stored beside the server; without it they count it as unreadable."""
    store = f"--data-dir={encrypted.data_dir}"
    flag = f"--encryption-provider-config={file}"
    (report,) = json.loads(run("versions", NAME, "-o", "json", store, flag))
    assert [(row["name"], row["objects"]) for row in report["versions"]] == [("v1", 1)]
    assert json.loads(run("get-stored", NAME, "default/a", store, flag))["spec"] == {"size": "m"}
    assert "default/a" not in run("rescue", "list", NAME, store, flag)
    assert "default/a" in run("rescue", "list", NAME, store)


def test_follows_its_file(encrypted: ApiextServer, file: Path) -> None:
    """A new key encrypts without a restart: also an object that is patched without a change."""
    with Client(encrypted) as client:
        before = client.must("GET", f"{WIDGETS}/a")
        write_configuration(file, (RESOURCES, [keyed("aescbc", "key2"), keyed("secretbox", "key1"), IDENTITY]))
        until(lambda: re.search(_RELOADED, metrics(encrypted)) is not None, "the reload")
        after = client.must("PATCH", f"{WIDGETS}/a", {}, MERGE_PATCH)

        assert int(after["metadata"]["resourceVersion"]) > int(before["metadata"]["resourceVersion"])
        assert stored(encrypted, "/registry/example.com/widgets/default/a").startswith(b"k8s:enc:aescbc:v1:key2:")
        assert client.must("GET", WIDGETS)["items"] == [after]
        assert client.must("GET", f"{SECRETS}/a")["data"] == {"password": "b3BlbiBzZXNhbWU="}


def test_health_and_metrics(encrypted: ApiextServer) -> None:
    """The health of plugins is a check of every health endpoint; transformations are counted."""
    for endpoint in ("healthz", "livez", "readyz"):
        assert encrypted.request("GET", f"/{endpoint}/kms-providers")[2] == b"ok"
    found = metrics(encrypted)
    assert 'apiserver_encryption_config_controller_last_config_info{apiserver_id_hash="sha256:' in found
    labels = 'resource="widgets.example.com",status="OK",transformation_type="to_storage",transformer_prefix="k8s:enc:secretbox:v1:"'
    assert f"apiserver_storage_transformation_operations_total{{{labels}}} 1.0" in found


def test_migrations_of_built_in_kinds(tmp_path: Path) -> None:
    """A StorageVersionMigration rewrites objects of any resource with the new key, wherever their keys are."""
    file = write_configuration(tmp_path / "encryption.json", (["*.*"], [keyed("aesgcm", "key1")]))
    server = ApiextServer(tmp_path, extra_args=["--builtin-kinds", f"--encryption-provider-config={file}"])
    with server, Client(server) as client:
        for (group, resource), (path, obj) in BUILT_IN.items():
            client.must("POST", f"/{path}/{resource}", {"metadata": {"name": "a"}, **obj})
            assert stored(server, STORED[group, resource]).startswith(b"k8s:enc:aesgcm:v1:key1:")
    write_configuration(file, (["*.*"], [keyed("aesgcm", "key2"), keyed("aesgcm", "key1")]))
    with server, Client(server) as client:
        for group, resource in BUILT_IN:
            migration = {"metadata": {"name": resource}, "spec": {"resource": {"group": group, "resource": resource}}}
            client.must("POST", MIGRATIONS, migration)
        until(lambda: all(map(has_succeeded, client.must("GET", MIGRATIONS)["items"])), "the migrations")

        for key in STORED.values():
            assert stored(server, key).startswith(b"k8s:enc:aesgcm:v1:key2:")


def has_succeeded(migration: dict[str, Any]) -> bool:
    """Report whether a migration has succeeded. Fail if it has failed."""
    found = {one["type"]: one["status"] for one in migration.get("status", {}).get("conditions", ())}
    assert "Failed" not in found, migration
    return found.get("Succeeded") == "True"


def metrics(server: ApiextServer) -> str:
    """Return the metrics."""
    return server.request("GET", "/metrics")[2].decode()
