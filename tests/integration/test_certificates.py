"""Tests that certificates are reloaded without a restart and without closing connections."""

import http.client
import json
import shutil
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority, KeyPair

NAMESPACES = "/api/v1/namespaces"
SOON = 60.0


class Mounted:
    """The files of a server as links into a folder that is replaced as a whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.authority = Authority(folder.parent / "authority", "authority")
        self.cert, self.key, self.clients = (folder / name for name in ("tls.crt", "tls.key", "clients.crt"))
        for path in (self.cert, self.key, self.clients):
            path.symlink_to(Path("..data") / path.name)

    def put(self, number: int, clients: list[Authority]) -> bytes:
        """Replace the serving certificate and the client authorities, and return the certificate."""
        data = self.folder / f"..{number}"
        data.mkdir()
        pair = self.authority.issue(f"server{number}")
        shutil.copy(pair.cert, data / "tls.crt")
        shutil.copy(pair.key, data / "tls.key")
        (data / "clients.crt").write_bytes(b"".join(authority.cert.read_bytes() for authority in clients))
        (self.folder / "..new").symlink_to(data.name)
        (self.folder / "..new").replace(self.folder / "..data")
        return ssl.PEM_cert_to_DER_cert(pair.cert.read_text().strip())


def _shown(server: ApiextServer) -> bytes:
    """Return the certificate that the server presents to a new client."""
    with (
        socket.create_connection(("127.0.0.1", server.port), 30) as plain,
        server.ssl_context(credentials=False).wrap_socket(plain, server_hostname="127.0.0.1") as tls,
    ):
        return tls.getpeercert(binary_form=True) or b""


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    """Return the files of a server."""
    return Mounted(tmp_path / "mounted")


@pytest.fixture
def admins(tmp_path: Path) -> list[Authority]:
    """Return two client authorities."""
    return [Authority(tmp_path / name, name) for name in ("first", "second")]


@pytest.fixture
def server(tmp_path: Path, mounted: Mounted, admins: list[Authority]) -> Iterator[ApiextServer]:
    """Start a server with the files, which trusts the first authority."""
    mounted.put(0, admins[:1])
    files = [f"--tls-cert-file={mounted.cert}", f"--tls-private-key-file={mounted.key}", f"--client-ca-file={mounted.clients}"]
    running = ApiextServer(tmp_path / "server", extra_args=files)
    running.folder.mkdir()
    running.ca = mounted.authority.cert
    _become(running, admins[0].issue("ann", groups=["system:masters"]))
    with running:
        yield running


def _become(server: ApiextServer, pair: KeyPair) -> None:
    server.client_cert, server.client_key = pair.cert, pair.key


def _connect(server: ApiextServer) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.ssl_context())


def _status(connection: http.client.HTTPSConnection) -> int:
    connection.request("GET", NAMESPACES)
    response = connection.getresponse()
    response.read()
    return response.status


def test_reloads_the_files(server: ApiextServer, mounted: Mounted, admins: list[Authority]) -> None:
    """Present the new certificate and trust the new authorities for new clients; open connections and watches continue."""
    with closing(_connect(server)) as idle, closing(_connect(server)) as watching:
        assert _status(idle) == 200
        socket_of_idle = idle.sock
        watching.request("GET", f"{NAMESPACES}?watch=1")
        with watching.getresponse() as events:
            assert events.readline()

            shown = mounted.put(1, admins)
            server.process.wait_until(lambda: _shown(server) == shown, SOON)

            assert _status(idle) == 200
            assert idle.sock is socket_of_idle
            _become(server, admins[1].issue("bob", groups=["system:masters"]))
            server.process.wait_until(lambda: _gets_in(server), SOON)
            assert server.request("POST", NAMESPACES, json.dumps({"metadata": {"name": "new"}}))[0] == 201
            while json.loads(events.readline())["object"]["metadata"].get("name") != "new":
                pass


def _gets_in(server: ApiextServer) -> bool:
    try:
        return server.request("GET", NAMESPACES)[0] == 200
    except OSError:
        return False


def test_rejects_clients_of_a_removed_authority(server: ApiextServer, mounted: Mounted, admins: list[Authority]) -> None:
    """Reject clients of a removed authority, also on open connections."""
    with closing(_connect(server)) as idle:
        assert _status(idle) == 200
        idle.auto_open = 0

        mounted.put(1, admins[1:])

        server.process.wait_until(lambda: _has_ended(idle), SOON)
    assert not _gets_in(server)
    _become(server, admins[1].issue("bob", groups=["system:masters"]))
    assert _gets_in(server)


def _has_ended(connection: http.client.HTTPSConnection) -> bool:
    try:
        return _status(connection) != 200
    except (OSError, http.client.HTTPException):
        return True


def test_keeps_the_certificate_while_files_are_broken(server: ApiextServer, mounted: Mounted, admins: list[Authority]) -> None:
    """Log a certificate without its key, and present the old one until the pair is complete."""
    before = _shown(server)
    key = mounted.key.read_bytes()
    mounted.key.resolve().write_bytes(key[:50])

    server.process.wait_until(lambda: "are not a certificate and its key" in server.log, SOON)
    assert _shown(server) == before
    assert server.ready()
    shown = mounted.put(1, admins)
    server.process.wait_until(lambda: _shown(server) == shown, SOON)


def test_own_certificates(tmp_path: Path) -> None:
    """Present the certificate that another server with more hosts wrote to the shared folder."""
    with ApiextServer(tmp_path) as first:
        before = _shown(first)
        (tmp_path / "other").mkdir()
        other = ApiextServer(tmp_path / "other", extra_args=[f"--cert-dir={first.cert_dir}", "--bind-address=127.0.0.2"])
        other.process.start()
        try:
            first.process.wait_until(lambda: _shown(first) != before, SOON)
        finally:
            other.stop()
        assert first.request("GET", NAMESPACES)[0] == 200
        metrics = first.request("GET", "/metrics")[2].decode()
        assert 'apiext_serving_certificate_expiration_timestamp_seconds{certificate="serving"}' in metrics
