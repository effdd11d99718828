"""Tests of the etcd that other tests start: restarts, and TLS with client certificates."""

import subprocess
from pathlib import Path

from hack.lib.reference.binaries import binary
from hack.lib.servers.certificates import Authority
from hack.lib.servers.etcd import Etcd


def etcdctl(server: Etcd, *arguments: str) -> str:
    """Run etcdctl against the server and return its output."""
    tls = [f"--cacert={server.ca}", f"--cert={server.cert}", f"--key={server.key}"] if server.ca else []
    command: list[str | Path] = [binary("etcdctl"), f"--endpoints={server.url}", *tls, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_data_survives_kill_and_restart(tmp_path: Path) -> None:
    """Keep acknowledged writes over kill -9 and a restart at the same address."""
    with Etcd(tmp_path, durable=False) as server:
        url = server.url
        etcdctl(server, "put", "key", "value")
        server.kill()
        server.start()

        assert server.url == url
        assert etcdctl(server, "get", "key") == "key\nvalue\n"


def test_tls_requires_a_client_certificate(tmp_path: Path) -> None:
    """Serve only clients with a certificate of the authority."""
    with Etcd(tmp_path, authority=Authority(tmp_path / "pki"), durable=False) as server:
        assert server.url.startswith("https://")
        assert etcdctl(server, "put", "key", "value") == "OK\n"
