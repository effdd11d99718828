"""Tests of the server process: its start, refusals to start, shutdown, and access without credentials."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiext.base.meta.limits import INLINE_STRETCH, MAX_INLINE_YAML_BYTES
from apiext.base.workers.harmless_signals import HARMLESS
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.process import free_port
from hack.lib.waiting import until
from tests.support.builders.crds import crd, widget, widget_crd
from tests.support.builders.kubeconfigs import write_kubeconfig

ROOT = Path(__file__).resolve().parents[2]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACES = "/api/v1/namespaces"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server for tests that only read."""
    with ApiextServer(tmp_path_factory.mktemp("server")) as running:
        yield running


def _refusal(*arguments: str, **env: str) -> tuple[int, str]:
    """Return exit code and standard error of a server that does not start."""
    command = [sys.executable, "-m", "apiext", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=os.environ | env)
    return done.returncode, done.stderr


def _lines(text: str) -> list[str]:
    return text.splitlines()


# --- the start ------------------------------------------------------------------------------------------------------


def test_start_block(tmp_path: Path) -> None:
    """Print one block with address, store, definitions, kubeconfig and the next command, and nothing else."""
    with ApiextServer(tmp_path) as server:
        lines = _lines(server.log)

    assert re.fullmatch(r"apiext is ready \(\d+\.\d\d s\)\. Ctrl-C stops it\.", lines[0])
    block = dict(line.split(maxsplit=1) for line in lines[1:])
    assert block == {
        "address": server.url,
        "store": f"SQLite in {server.data_dir}/apiext.db",
        "CRDs": "0 served",
        "kubeconfig": str(server.kubeconfig),
        "next": f"export KUBECONFIG={server.kubeconfig}; kubectl api-resources",
    }


def test_default_folders(tmp_path: Path) -> None:
    """Write all files to the user's data folder without flags."""
    port = free_port()
    with ApiextServer(tmp_path, env={"XDG_DATA_HOME": str(tmp_path / "xdg")}) as server:
        server.stop()
        server.process.command[-3:] = [f"--secure-port={port}"]
        server.port, server.cert_dir = port, tmp_path / "xdg" / "apiext" / "pki"
        server.ca = server.cert_dir / "apiext-ca.crt"
        server.start()

    assert (tmp_path / "xdg" / "apiext" / "apiext.db").exists()


def test_definitions_of_a_folder(tmp_path: Path) -> None:
    """Serve the definitions of --crd-dir when the server is ready; name a broken file in the log."""
    folder = tmp_path / "crds"
    folder.mkdir()
    (folder / "broken.yaml").write_text("a: [\n")
    (folder / "widgets.json").write_text(json.dumps(crd()))

    with ApiextServer(tmp_path, crd_dir=folder) as server:
        status, _, body = server.request("GET", "/apis/example.com/v1/widgets")

    assert (status, json.loads(body)["kind"]) == (200, "WidgetList")
    assert "broken.yaml: line 2" in server.log
    assert f"1 served; 1 read from {folder}" in server.log


def test_the_samples_have_no_problems(tmp_path: Path) -> None:
    """Serve all CRDs of the folder that `hack/run` serves."""
    found = re.search(r'--crd-dir "\$root/(\S+)"', (ROOT / "hack" / "run").read_text())
    assert found is not None
    folder = ROOT / found[1]

    with ApiextServer(tmp_path, crd_dir=folder) as server:
        files = len(list(folder.iterdir()))
        assert f"{files} served; {files} read from {folder}\n" in server.log
        assert "broken" not in server.log


def test_a_folder_that_is_not_watched(tmp_path: Path) -> None:
    """Serve the definitions of the folder that is an argument; with --watch-crd-dir=false, follow no changes of it."""
    folder = tmp_path / "crds"
    folder.mkdir()
    (folder / "widgets.json").write_text(json.dumps(crd()))

    with ApiextServer(tmp_path, extra_args=["--watch-crd-dir=false", str(folder)]) as server:
        (folder / "gadgets.json").write_text(json.dumps(crd("gadgets")))
        found = [server.request("GET", f"{CRDS}/{name}.example.com")[0] for name in ("widgets", "gadgets")]
        watches = "watchfiles" in Path(f"/proc/{server.pid}/maps").read_text()

    assert (found, watches) == ([200, 404], False)


# --- signals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", HARMLESS, ids=lambda number: str(number.name))
def test_signals_that_end_nothing(server: ApiextServer, number: signal.Signals) -> None:
    """Go on after a signal that the reference ignores."""
    before = server.pid

    os.kill(before, number)

    assert server.request("GET", NAMESPACES)[0] == 200
    assert server.process.running


# --- refusals -------------------------------------------------------------------------------------------------------


def test_port_in_use(tmp_path: Path) -> None:
    """Print one line for a port in use and create no files."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code, text = _refusal(f"--secure-port={port}", f"--data-dir={tmp_path / 'data'}")

    assert (code, _lines(text)) == (1, [f"apiext: cannot listen on 127.0.0.1:{port}: Address already in use; another port: --secure-port"])
    assert not (tmp_path / "data").exists()


def test_data_folder_in_use(server: ApiextServer) -> None:
    """Print one line for a data folder in use, with the process id of the other server."""
    code, text = _refusal("--secure-port=0", f"--data-dir={server.data_dir}", f"--cert-dir={server.cert_dir}")

    expected = f"apiext: {server.data_dir}/apiext.db is in use by another process (process {server.pid})"
    assert (code, _lines(text)) == (1, [expected])


def test_data_folder_cannot_be_created(tmp_path: Path) -> None:
    """Print one line for a data folder that cannot be created."""
    (tmp_path / "file").touch()

    code, text = _refusal("--secure-port=0", f"--data-dir={tmp_path / 'file'}", f"--cert-dir={tmp_path / 'pki'}")

    assert (code, _lines(text)) == (1, [f"apiext: cannot use the data directory {tmp_path / 'file'}: File exists"])


def test_damaged_store(tmp_path: Path) -> None:
    """Print one line for a file that is no store, and keep the file."""
    path = tmp_path / "apiext.db"
    path.write_bytes(b"something else" * 100)

    code, text = _refusal("--secure-port=0", f"--data-dir={tmp_path}")

    assert code == 1
    assert len(_lines(text)) == 1
    assert text.startswith(f"apiext: {path}")
    assert path.read_bytes() == b"something else" * 100


@pytest.mark.slow
def test_unreachable_etcd(tmp_path: Path) -> None:
    """Print one line with the address of an etcd that does not answer."""
    url = f"http://127.0.0.1:{free_port()}"

    code, text = _refusal("--secure-port=0", f"--etcd-servers={url}", f"--cert-dir={tmp_path}")

    assert code == 1
    assert len(_lines(text)) == 1
    assert text.startswith(f"apiext: etcd cannot be reached at {url}: ")


def test_bad_certificate(tmp_path: Path) -> None:
    """Print one line for a file that is no certificate."""
    path = tmp_path / "ca.crt"
    path.write_text("x")

    code, text = _refusal("--secure-port=0", f"--data-dir={tmp_path}", f"--client-ca-file={path}")

    assert code == 1
    assert _lines(text) == [text.strip()]
    assert f"{path} holds no certificates" in text


# --- who gets in ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/healthz?verbose"])
def test_health_without_credentials(server: ApiextServer, path: str) -> None:
    """Answer the health endpoints without credentials."""
    assert server.request("GET", path, credentials=False)[0] == 200


@pytest.mark.parametrize(
    "path", ["/", "/version", "/metrics", "/apis", "/openapi/v3", NAMESPACES, "/readyz/ping", "/healthz/../apis", "//apis"]
)
def test_nothing_else_without_credentials(server: ApiextServer, path: str) -> None:
    """Answer all other paths with 401 or 403 without credentials."""
    status, _, body = server.request("GET", path, credentials=False)

    assert (status, json.loads(body)["reason"]) == (403, "Forbidden")
    assert 'User "system:anonymous" cannot' in json.loads(body)["message"]


def test_unknown_token(server: ApiextServer) -> None:
    """Answer 401 to an unknown token."""
    status, _, body = server.request("GET", NAMESPACES, credentials=False, headers={"Authorization": "Bearer x"})

    assert (status, json.loads(body)["message"]) == (401, "Unauthorized")


def test_tokens_and_no_anonymous(tmp_path: Path) -> None:
    """Accept the tokens of a token file; with --anonymous-auth=false refuse all others, also at the health endpoints."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("secret,ann,1\n")
    server = ApiextServer(tmp_path, extra_args=[f"--token-auth-file={tokens}", "--anonymous-auth=false"])
    bearer = {"Authorization": "Bearer secret"}
    server.process.start()
    try:
        server.process.wait_until(lambda: server.ca.exists() and server.request("GET", "/readyz", headers=bearer)[0] == 200, 20)

        assert server.request("GET", NAMESPACES, credentials=False, headers=bearer)[0] == 200
        assert server.request("GET", "/healthz", credentials=False)[0] == 401
    finally:
        server.stop()


def test_audit_and_cache_headers(server: ApiextServer) -> None:
    """Send an audit id and Cache-Control with every response."""
    for path in (NAMESPACES, "/apis/nope/v1/x", "/version"):
        _, headers, _ = server.request("GET", path)

        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", headers["Audit-Id"])
        assert headers["Cache-Control"] == "no-cache, private"


def test_refuses_malformed_http(server: ApiextServer) -> None:
    """Refuse malformed HTTP with 400, without a traceback in the answer or the log."""
    context = server.ssl_context()
    for data in (b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /a b c HTTP/1.1\r\nHost: x\r\n\r\n"):
        with (
            socket.create_connection(("127.0.0.1", server.port), 5) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as tls,
        ):
            tls.sendall(data)
            answer = tls.recv(65536)

        assert re.match(rb"HTTP/1\.1 400 .*\r\n\r\n400 ", answer, re.DOTALL)
        assert b"Traceback" not in answer
    assert "Traceback" not in server.log
    assert server.ready()


# --- large bodies ---------------------------------------------------------------------------------------------------


def test_large_yaml_is_parsed_outside_the_server(server: ApiextServer) -> None:
    """Parse a large YAML body in a worker process, where it holds no event loop; the server loads the parser for a small one."""
    document = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: large, annotations: {a: %b}}\n"
    headers = {"Content-Type": "application/yaml"}

    def has_parser() -> bool:
        return "/_yaml." in Path(f"/proc/{server.pid}/maps").read_text()

    assert not has_parser()
    # too large for the server even while the start of a process is late
    large = document % (b"a" * MAX_INLINE_YAML_BYTES * INLINE_STRETCH)
    assert server.request("POST", f"{NAMESPACES}?dryRun=All", large, headers=headers)[0] == http.HTTPStatus.CREATED
    assert not has_parser()
    assert server.request("POST", f"{NAMESPACES}?dryRun=All", document % b"a", headers=headers)[0] == http.HTTPStatus.CREATED
    assert has_parser()


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stops_gracefully_at_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    """Exit with code 0 after a signal, end watches, and keep the data for the next start."""
    server = ApiextServer(tmp_path).start()
    assert server.request("POST", NAMESPACES, json.dumps({"metadata": {"name": "kept"}}))[0] == 201
    watch = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.ssl_context())
    watch.request("GET", f"{NAMESPACES}?watch=1")
    answer = watch.getresponse()
    assert answer.readline()

    server.process.signal(number)
    rest = answer.read()

    assert rest.endswith(b"\n")
    until(lambda: not server.process.running, "the end")
    assert server.process.code() == 0
    watch.close()
    with server:
        assert server.request("GET", f"{NAMESPACES}/kept")[0] == 200
    assert "Traceback" not in server.log


def test_is_not_ready_during_the_shutdown_delay(tmp_path: Path) -> None:
    """Serve during --shutdown-delay-duration and fail /readyz meanwhile."""
    with ApiextServer(tmp_path, extra_args=["--shutdown-delay-duration=60s"]) as server:
        server.process.signal(signal.SIGTERM)
        server.process.wait_until(lambda: not server.ready(), 30)

        assert server.request("GET", "/livez", credentials=False)[0] == 200
        assert server.request("GET", NAMESPACES)[0] == 200
        _, _, body = server.request("GET", "/readyz", credentials=False)
        assert b"[-]shutdown failed: reason withheld" in body
        server.kill()


def test_requests_in_flight_are_finished(tmp_path: Path) -> None:
    """Finish requests in flight after the signal."""
    server = ApiextServer(tmp_path).start()
    failures: list[str] = []
    answered = threading.Event()

    def ask() -> None:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.ssl_context())
        try:
            connection.connect()
            # a second connection would reach a server that is ending
            connection.auto_open = 0
            for number in range(10_000):
                try:
                    connection.request("GET", NAMESPACES)
                except (OSError, http.client.NotConnected):
                    return
                try:
                    if connection.getresponse().read()[-2:] != b"}\n":
                        failures.append(f"request {number} was cut short")
                except http.client.RemoteDisconnected:
                    return
                answered.set()
        except (OSError, http.client.HTTPException) as error:
            failures.append(repr(error))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert answered.wait(30)
    server.stop()
    for thread in threads:
        thread.join(30)

    assert failures == []


def test_on_etcd(tmp_path: Path, etcd: Etcd) -> None:
    """Start on etcd, keep the data, and name the store in the start block."""
    with ApiextServer(tmp_path, etcd_url=etcd.url, etcd_prefix="lifecycle") as server:
        assert server.request("POST", NAMESPACES, json.dumps({"metadata": {"name": "kept"}}))[0] == 201
        server.restart()

        assert server.request("GET", f"{NAMESPACES}/kept")[0] == 200
        assert server.request("GET", "/healthz/etcd")[0] == 200
    assert f"etcd at {etcd.url}, prefix /lifecycle" in server.log


def test_flags_of_the_conformance_suite(tmp_path: Path, etcd: Etcd) -> None:
    """Accept the flags with which the reference's suite starts its servers, and its self-made client certificate."""
    authority = Authority(tmp_path / "pki")
    admin = authority.issue("admin", groups=["system:masters"])
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", "http://127.1.2.3:12345")
    apiext = ApiextServer(
        tmp_path,
        etcd_url=etcd.url,
        etcd_prefix="2e1a0f4c-0000-4000-8000-000000000000",
        extra_args=[
            "--authentication-skip-lookup",
            *("--authentication-kubeconfig", str(kubeconfig)),
            *("--authorization-kubeconfig", str(kubeconfig)),
            *("--kubeconfig", str(kubeconfig)),
            *("--client-ca-file", str(authority.cert)),
            *("--bind-address", "127.0.0.1"),
            "--enable-priority-and-fairness=false",
            "--disable-admission-plugins=ResourceQuota",
            "--disable-admission-plugins",
            "NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
            "--feature-gates=CBORServingAndStorage=true",
            "--watch-cache=true",
        ],
    )
    apiext.client_cert, apiext.client_key = admin.cert, admin.key

    with apiext:
        status, _, body = apiext.request("GET", NAMESPACES)
        assert (status, "/apis/apiextensions.k8s.io/v1" in json.loads(body)["paths"]) == (404, True)
        assert apiext.request("POST", CRDS, json.dumps(widget_crd(group="own.example.com")))[0] == 201
        missing = "/apis/own.example.com/v1/namespaces/missing/widgets"
        until(lambda: apiext.request("GET", missing)[0] == 200)
        assert apiext.request("POST", missing, json.dumps(widget("w", group="own.example.com")))[0] == 201

    assert not apiext.kubeconfig.exists()
    assert (tmp_path / "pki" / "ca.crt").read_bytes() == authority.cert.read_bytes()
