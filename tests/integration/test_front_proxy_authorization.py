"""Tests of authorization mode FrontProxy with certificates of front proxies, and another server that counts reviews."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority, KeyPair
from tests.support.builders.crds import widget_crd, widgets_path
from tests.support.builders.kubeconfigs import write_kubeconfig

GROUP: Final = "example.com"
WIDGETS: Final = widgets_path(GROUP)
ANN: Final = {"X-Remote-User": "ann", "X-Remote-Group": "system:authenticated"}
WIDGET: Final = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {}}


class _Handler(BaseHTTPRequestHandler):
    """Records every review, and denies it."""

    asked: list[str]

    def do_POST(self) -> None:
        """Record the review and deny it."""
        spec = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["spec"]
        about = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
        self.asked.append(f"{spec['user']} {about['verb']} {about.get('resource') or about.get('path')}")
        answer = json.dumps({"status": {"allowed": False}}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_args: object) -> None:
        """Write no log."""


@contextmanager
def _reviewer(folder: Path, handler: type[_Handler] = _Handler) -> Iterator[tuple[Path, list[str]]]:
    asked: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), {"asked": asked})) as remote:
        Thread(target=remote.serve_forever, daemon=True).start()
        yield write_kubeconfig(folder / "kubeconfig", f"http://127.0.0.1:{remote.server_port}"), asked
        remote.shutdown()


class Served:
    """A server in mode FrontProxy, and the reviews that it sent."""

    def __init__(self, server: ApiextServer, asked: list[str], proxies: Authority, users: Authority) -> None:
        self._server = server
        self._asked = asked
        self.aggregator = proxies.issue("aggregator")
        self.stranger = proxies.issue("stranger")
        self.user = users.issue("bob")

    def ask(self, pair: KeyPair | None, method: str, path: str, body: object = None, **headers: str) -> tuple[int, list[str]]:
        """Send a request; return the code and the reviews that it caused."""
        server, before = self._server, len(self._asked)
        if pair is not None:
            server.client_cert, server.client_key = pair.cert, pair.key
        data = None if body is None else json.dumps(body)
        kind = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        status, _, _ = server.request(method, path, data, headers=kind | headers, credentials=pair is not None)
        return status, self._asked[before:]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start a server with a CRD whose reviews are all denied."""
    folder = tmp_path_factory.mktemp("front-proxy")
    crds = folder / "crds"
    crds.mkdir()
    (crds / "widgets.json").write_text(json.dumps(widget_crd(group=GROUP)))
    proxies, users = Authority(folder / "proxies", "proxies"), Authority(folder / "users", "users")
    with _reviewer(folder) as (kubeconfig, asked):
        flags = [
            "--authorization-mode=FrontProxy,Webhook",
            f"--authorization-kubeconfig={kubeconfig}",
            "--authorization-webhook-cache-unauthorized-ttl=1ms",
            f"--client-ca-file={users.cert}",
            f"--requestheader-client-ca-file={proxies.cert}",
            "--requestheader-allowed-names=aggregator",
        ]
        admin = users.issue("admin", groups=["system:masters"])
        server = ApiextServer(folder, crd_dir=crds, extra_args=flags)
        server.client_cert, server.client_key = admin.cert, admin.key
        with server:
            yield Served(server, asked, proxies, users)


def test_refuses_hosts_that_authorize_with_conditions(tmp_path: Path) -> None:
    """Do not start beside a host with the feature gate."""
    gate = b'kubernetes_feature_enabled{name="ConditionalAuthorization",stage="ALPHA"} 1\n'

    class Host(_Handler):
        def do_GET(self) -> None:
            """Answer with the metrics of the gate, and know no other path."""
            self.send_response(200 if self.path == "/metrics" else 404)
            self.send_header("Content-Length", str(len(gate)))
            self.end_headers()
            self.wfile.write(gate)

    proxies = Authority(tmp_path / "proxies", "proxies")
    with _reviewer(tmp_path, Host) as (kubeconfig, _):
        command = [sys.executable, "-m", "apiext", "serve", "--secure-port=0", f"--data-dir={tmp_path / 'data'}"]
        flags = ["--authorization-mode=FrontProxy,Webhook", f"--authorization-kubeconfig={kubeconfig}"]
        flags.append(f"--requestheader-client-ca-file={proxies.cert}")
        done = subprocess.run([*command, *flags], capture_output=True, text=True, timeout=60, check=False)

    reason = "the host has the feature gate ConditionalAuthorization"
    assert done.returncode == 1
    assert done.stderr.splitlines() == [f"apiext: --authorization-mode: FrontProxy would skip the conditions of authorizers: {reason}"]


def test_asks_nothing_about_proxied_requests(served: Served) -> None:
    """Serve every verb and discovery for a user whom the host's front proxy names, without a review."""
    one = f"{WIDGETS}/a"
    requests: list[tuple[int, str, str, object]] = [
        (200, "GET", f"/apis/{GROUP}/v1", None),
        (201, "POST", WIDGETS, WIDGET),
        (200, "GET", one, None),
        (200, "GET", f"{WIDGETS}?fieldSelector=metadata.name%3Da&limit=1", None),
        (200, "PATCH", one, {"metadata": {"labels": {"a": "b"}}}),
        (404, "GET", f"{WIDGETS}/missing", None),
        (200, "DELETE", one, {}),
        (200, "DELETE", WIDGETS, {}),
    ]

    found = [served.ask(served.aggregator, method, path, body, **ANN) for _, method, path, body in requests]

    assert found == [(code, []) for code, *_ in requests]


def test_reviews_what_the_host_has_not_authorized(served: Served) -> None:
    """Ask for other paths, for the creation by an apply or an update, for unsafe deletions and for impersonation behind the host."""
    one = f"{WIDGETS}/new"
    named = WIDGET | {"metadata": {"name": "new"}}
    unsafe = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    applied = {"Content-Type": "application/apply-patch+yaml"}
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

    found = {
        "path": served.ask(served.aggregator, "GET", "/metrics", **ANN),
        "group": served.ask(served.aggregator, "GET", "/apis/other.example.com/v1/widgets", **ANN),
        "definitions": served.ask(served.aggregator, "GET", crds, **ANN),
        "dots": served.ask(served.aggregator, "GET", f"{WIDGETS}/../widgets/a", **ANN),
        "create by apply": served.ask(served.aggregator, "PATCH", f"{one}?fieldManager=x", named, **ANN, **applied),
        "unsafe": served.ask(served.aggregator, "DELETE", one, unsafe, **ANN),
        "impersonation": served.ask(served.aggregator, "GET", one, **ANN, **{"Impersonate-User": "eve"}),
    }

    assert found == {
        "path": (403, ["ann get /metrics"]),
        "group": (403, ["ann list widgets"]),
        "definitions": (403, ["ann list customresourcedefinitions"]),
        "dots": (403, ["ann get widgets"]),
        "create by apply": (403, ["ann create widgets"]),
        "unsafe": (403, ["ann unsafe-delete-ignore-read-errors widgets"]),
        "impersonation": (403, ["ann impersonate-on:user-info:get widgets", "ann impersonate users"]),
    }


def test_reviews_other_clients(served: Served) -> None:
    """Ask for clients that present the headers without the front proxy's certificate, and for the front proxy without headers."""
    found = {
        "no certificate": served.ask(None, "GET", WIDGETS, **ANN),
        "a user's certificate": served.ask(served.user, "GET", WIDGETS, **ANN),
        "another name": served.ask(served.stranger, "GET", WIDGETS, **ANN),
        "no headers": served.ask(served.aggregator, "GET", WIDGETS),
        "groups only": served.ask(served.aggregator, "GET", WIDGETS, **{"X-Remote-Group": "system:masters"}),
    }

    assert found == {
        "no certificate": (403, ["system:anonymous list widgets"]),
        "a user's certificate": (403, ["bob list widgets"]),
        "another name": (401, []),
        "no headers": (401, []),
        "groups only": (401, []),
    }
