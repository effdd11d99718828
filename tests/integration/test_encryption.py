"""Encryption at rest as kube-apiserver does it: both servers read what the other one wrote, with every provider."""

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from hack.lib.waiting import until
from tests.support.builders.crds import crd, version
from tests.support.builders.encryption import IDENTITY, keyed, kms, write_configuration
from tests.support.servers.kms_plugin import KMSPlugin

pytestmark = pytest.mark.slow

GROUP: Final = "secret.example.com"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PREFIXES: Final = {
    "cbcs": "k8s:enc:aescbc:v1:new:",
    "gcms": "k8s:enc:aesgcm:v1:new:",
    "boxes": "k8s:enc:secretbox:v1:new:",
    "plugins": "k8s:enc:kms:v2:vault:",
    "plains": "{",
    "others": "k8s:enc:aesgcm:v1:rest:",
}
"""The beginning of the stored values of each resource."""
MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
WRITERS: Final = ("reference", "apiext")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the servers."""
    return tmp_path_factory.mktemp("e")


@pytest.fixture(scope="module")
def plugin(folder: Path) -> Iterator[KMSPlugin]:
    """Run the plugin of both servers."""
    with KMSPlugin(folder) as running:
        yield running


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[Etcd]:
    """Run the etcd of both servers."""
    with Etcd(folder / "etcd", durable=False) as running:
        yield running


@pytest.fixture(scope="module")
def callers(folder: Path, store: Etcd, plugin: KMSPlugin) -> Iterator[dict[str, Caller]]:
    """Run both servers with one configuration on one etcd, and yield their clients."""
    file = write_configuration(
        folder / "encryption.json",
        (["customresourcedefinitions.apiextensions.k8s.io"], [keyed("aescbc", "crds"), IDENTITY]),
        ([f"cbcs.{GROUP}"], [keyed("aescbc", "new", "old"), IDENTITY]),
        ([f"gcms.{GROUP}"], [keyed("aesgcm", "new", "old", size=24)]),
        ([f"boxes.{GROUP}"], [keyed("secretbox", "new", "old")]),
        ([f"plugins.{GROUP}"], [kms(plugin.endpoint)]),
        ([f"plains.{GROUP}"], [IDENTITY, keyed("aescbc", "old")]),
        ([f"*.{GROUP}"], [keyed("aesgcm", "rest", size=16)]),
    )
    flag = f"--encryption-provider-config={file}"
    plane = ControlPlane(folder / "reference", etcd_url=store.url, extra_args=[flag])
    server = ApiextServer(folder / "apiext", etcd_url=store.url, extra_args=[flag])
    with plane, server:
        yield {"reference": plane.client, "apiext": Caller(server.url, server.ca, KeyPair(server.client_cert, server.client_key))}


@pytest.fixture(scope="module", autouse=True)
def objects(callers: dict[str, Caller]) -> None:
    """Create definitions through each server, and objects of all of them through both."""
    for number, plural in enumerate(PREFIXES):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        document = crd(plural, version("v1", storage=True, schema=schema), kind=plural.capitalize(), group=GROUP)
        callers[WRITERS[number % 2]].must("POST", CRDS, document)
    for plural in PREFIXES:
        for writer in WRITERS:
            path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
            until(partial(is_served, callers[writer], path), plural)
            document = {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(), "metadata": {"name": writer}, "spec": {"text": "a" * 50}}
            callers[writer].must("POST", path, document)


def is_served(caller: Caller, path: str) -> bool:
    """Report whether a server serves a path."""
    return caller.ask("GET", path)[0] == 200


def stored(store: Etcd, key: str) -> bytes:
    """Return the stored value of an object."""
    command: list[str | Path] = [binaries.binary("etcdctl"), f"--endpoints={store.url}", "get", key, "--print-value-only"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def spec(answer: dict[str, Any]) -> dict[str, Any]:
    """Return what an object says about itself."""
    return {"name": answer["metadata"]["name"], "uid": answer["metadata"]["uid"], **answer["spec"]}


@pytest.mark.parametrize("plural", PREFIXES)
def test_both_read_what_either_wrote(callers: dict[str, Caller], store: Etcd, plural: str) -> None:
    """Values of both servers have the prefix of the provider, and both show the same objects."""
    path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
    for writer in WRITERS:
        value = stored(store, f"/registry/{GROUP}/{plural}/default/{writer}")
        assert value.startswith(PREFIXES[plural].encode())
        assert (b"aaaaa" in value) == (plural == "plains")
        assert callers["reference"].must("GET", f"{path}/{writer}") == callers["apiext"].must("GET", f"{path}/{writer}")
    lists = [[spec(item) for item in callers[writer].must("GET", path)["items"]] for writer in WRITERS]
    assert lists[0] == lists[1]
    assert [item["name"] for item in lists[0]] == ["apiext", "reference"]


@pytest.mark.parametrize("plural", PREFIXES)
def test_each_updates_what_the_other_wrote(callers: dict[str, Caller], plural: str) -> None:
    """An update through one server is seen by the other one."""
    path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
    patch = [("Content-Type", "application/merge-patch+json")]
    for writer, other in zip(WRITERS, reversed(WRITERS), strict=True):
        changed = callers[writer].must("PATCH", f"{path}/{other}", {"spec": {"by": writer}}, patch)

        assert callers[other].must("GET", f"{path}/{other}") == changed


def test_definitions_are_encrypted(store: Etcd) -> None:
    """Definitions of both servers are encrypted with the key for them."""
    for plural in PREFIXES:
        value = stored(store, f"/registry/apiextensions.k8s.io/customresourcedefinitions/{plural}.{GROUP}")

        assert value.startswith(b"k8s:enc:aescbc:v1:crds:")


def test_plugins_are_healthy(callers: dict[str, Caller], plugin: KMSPlugin) -> None:
    """Both servers report the plugin, and asked it once for each seed of the other one."""
    assert [caller.ask("GET", "/healthz/kms-providers") for caller in callers.values()] == [(200, "ok")] * 2
    assert plugin.decrypted <= plugin.encrypted


def test_new_key_of_the_plugin(callers: dict[str, Caller], store: Etcd, plugin: KMSPlugin) -> None:
    """Both servers write with the plugin's new key, and read what has the old one; a migration rewrites it."""
    path, keys = f"/apis/{GROUP}/v1/namespaces/default/plugins", f"/registry/{GROUP}/plugins/default"
    names = {writer: f"old-{writer}" for writer in WRITERS}
    for writer, name in names.items():
        document = {"apiVersion": f"{GROUP}/v1", "kind": "Plugins", "metadata": {"name": name}, "spec": {"text": "b"}}
        callers[writer].must("POST", path, document)
    plugin.key = "key-2"
    for writer in WRITERS:
        until(partial(uses_the_new_key, callers[writer], store, writer), f"the new key of {writer}")
    for writer, other in zip(WRITERS, reversed(WRITERS), strict=True):
        assert b"sealed by key-1" in stored(store, f"{keys}/{names[writer]}")
        assert callers[other].must("GET", f"{path}/{names[writer]}") == callers[writer].must("GET", f"{path}/{names[writer]}")
    resource = {"group": GROUP, "resource": "plugins"}
    callers["apiext"].must("POST", MIGRATIONS, {"metadata": {"name": "rewrite"}, "spec": {"resource": resource}})
    until(lambda: all(b"sealed by key-2" in stored(store, f"{keys}/{name}") for name in names.values()), "the migration")

    lists = [callers[writer].must("GET", path)["items"] for writer in WRITERS]
    assert lists[0] == lists[1]
    for writer, name in names.items():
        callers[writer].must("DELETE", f"{path}/{name}")


def uses_the_new_key(caller: Caller, store: Etcd, name: str) -> bool:
    """Write an object without a change, and report whether its value has the new key."""
    # a server asks the plugin for its key when it is asked for the plugin's health
    caller.ask("GET", "/healthz/kms-providers")
    caller.must("PATCH", f"/apis/{GROUP}/v1/namespaces/default/plugins/{name}", {}, [("Content-Type", "application/merge-patch+json")])
    return b"sealed by key-2" in stored(store, f"/registry/{GROUP}/plugins/default/{name}")
