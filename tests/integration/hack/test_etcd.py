"""The etcd that tests use: same address and data after a restart, TLS with client certificates."""

import subprocess
from pathlib import Path

from hack.lib.reference.binaries import binary
from hack.lib.servers.certificates import Authority
from hack.lib.servers.etcd import Etcd


def etcdctl(server: Etcd, *arguments: str) -> str:
    """Output of etcdctl against the server."""
    tls = [f"--cacert={server.ca}", f"--cert={server.cert}", f"--key={server.key}"] if server.ca else []
    command: list[str | Path] = [binary("etcdctl"), f"--endpoints={server.url}", *tls, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_data_survives_kill_and_restart(tmp_path: Path) -> None:
    """What was written is there after kill -9 and a start on the same address."""
    with Etcd(tmp_path, durable=False) as server:
        url = server.url
        etcdctl(server, "put", "key", "value")
        server.kill()
        server.start()

        assert server.url == url
        assert etcdctl(server, "get", "key") == "key\nvalue\n"


def test_tls_asks_for_a_client_certificate(tmp_path: Path) -> None:
    """With an authority, etcd serves clients that have a certificate of it."""
    with Etcd(tmp_path, authority=Authority(tmp_path / "pki"), durable=False) as server:
        assert server.url.startswith("https://")
        assert etcdctl(server, "put", "key", "value") == "OK\n"
