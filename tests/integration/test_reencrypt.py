"""The last step of a key's rotation, on a running server over either store."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from tests.support.builders.crds import crd, version, widget
from tests.support.builders.encryption import IDENTITY, keyed, write_configuration
from tests.support.clients.client import Client

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
COUNT: Final = 40


@pytest.fixture(params=["sqlite", "etcd"])
def etcd_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    """Provide the address of an etcd, and None for the embedded store."""
    if request.param == "sqlite":
        yield None
        return
    with Etcd(tmp_path / "etcd", durable=False) as etcd:
        yield etcd.url


def reencrypt(server: ApiextServer) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "apiext", "reencrypt", f"--kubeconfig={server.kubeconfig}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_old_keys_can_be_removed_afterwards(etcd_url: str | None, tmp_path: Path) -> None:
    """Encrypt everything with the new key, definitions and built-in kinds too, without a change that a client sees but the revision."""
    file = write_configuration(tmp_path / "encryption.json", (["*.*"], [keyed("aescbc", "key1")]))
    server = ApiextServer(tmp_path, etcd_url=etcd_url, extra_args=[f"--encryption-provider-config={file}"])
    with server, Client(server) as client:
        client.define(crd("widgets", version("v1", storage=True)))
        for number in range(COUNT):
            client.must("POST", WIDGETS, widget(f"w{number}", size="m"))
        client.must("POST", CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"key": "value"}})
        before = _contents(client)
    write_configuration(file, (["*.*"], [keyed("aesgcm", "key2"), keyed("aescbc", "key1")]))
    with server:
        first, second = reencrypt(server), reencrypt(server)
    write_configuration(file, (["*.*"], [keyed("aesgcm", "key2")]))
    with server, Client(server) as client:
        after = _contents(client)

    assert (first.returncode, first.stderr) == (second.returncode, second.stderr) == (0, "")
    assert int(first.stdout.split()[1]) >= COUNT + 2
    assert second.stdout.startswith("wrote 0 values again;")
    assert after == before


def test_unreadable_values_keep_the_old_keys(tmp_path: Path) -> None:
    """Write the other values, name those that have no key, and exit with 1."""
    file = write_configuration(tmp_path / "encryption.json", (["configmaps"], [keyed("aescbc", "lost")]))
    server = ApiextServer(tmp_path, extra_args=[f"--encryption-provider-config={file}"])
    with server, Client(server) as client:
        client.must("POST", CONFIG_MAPS, {"metadata": {"name": "lost"}})
    write_configuration(file, (["configmaps"], [IDENTITY]))
    with server, Client(server) as client:
        client.must("POST", CONFIG_MAPS, {"metadata": {"name": "plain"}})
    write_configuration(file, (["configmaps"], [keyed("aesgcm", "key2"), IDENTITY]))
    with server:
        done = reencrypt(server)

    assert done.returncode == 1
    assert done.stdout.startswith("wrote 1 value again;")
    assert "cannot be decrypted: configmaps/default/lost" in done.stderr


def _contents(client: Client) -> list[str]:
    """Return the objects without what a write changes."""
    items = [item for path in (WIDGETS, CONFIG_MAPS) for item in client.must("GET", path)["items"]]
    for item in items:
        item["metadata"].pop("resourceVersion")
    return sorted(json.dumps(item, sort_keys=True) for item in items)
