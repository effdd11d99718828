"""Tests that the reviews sent to another server have the user that a front proxy names."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from tests.support.builders.kubeconfigs import write_kubeconfig


class _Handler(BaseHTTPRequestHandler):
    """Allows every review and authenticates every token."""

    asked: list[tuple[str, Any]]

    def do_POST(self) -> None:
        """Record the review and answer it."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((review["kind"], review["spec"]))
        user = {"username": "robot", "uid": "8", "groups": ["robots"], "extra": {"k": ["v"]}}
        answer = json.dumps({"status": {"allowed": True, "authenticated": True, "user": user}}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_args: object) -> None:
        """Write no log."""


@contextmanager
def _reviewer(folder: Path) -> Iterator[tuple[Path, list[tuple[str, Any]]]]:
    """Start a server for reviews and return its kubeconfig and the reviews that it got."""
    asked: list[tuple[str, Any]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"asked": asked})) as remote:
        Thread(target=remote.serve_forever, daemon=True).start()
        yield write_kubeconfig(folder / "kubeconfig", f"http://127.0.0.1:{remote.server_port}"), asked
        remote.shutdown()


@pytest.fixture
def proxies(tmp_path: Path) -> Authority:
    """Return the authority of front proxies."""
    return Authority(tmp_path / "proxies")


def test_reviews_have_the_whole_user(tmp_path: Path, proxies: Authority) -> None:
    """Send name, uid, groups and extra of proxy headers and of tokens; cache the results."""
    with _reviewer(tmp_path) as (kubeconfig, asked):
        asked_ones = [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]
        flags = [*asked_ones, "--authentication-skip-lookup", f"--requestheader-client-ca-file={proxies.cert}"]
        with ApiextServer(tmp_path, extra_args=[*flags, "--requestheader-uid-headers=X-Remote-Uid"]) as server:
            proxy = proxies.issue("any")
            server.client_cert, server.client_key = proxy.cert, proxy.key
            headers = {"X-Remote-User": "ann", "X-Remote-Uid": "7", "X-Remote-Group": "g", "X-Remote-Extra-A%2Fb": "c"}
            for _ in range(2):
                assert server.request("GET", "/version", headers=headers)[0] == 200
                assert server.request("GET", "/version", headers={"Authorization": "Bearer t"}, credentials=False)[0] == 200

    about = {"nonResourceAttributes": {"path": "/version", "verb": "get"}}
    ann = {"user": "ann", "uid": "7", "groups": ["g", "system:authenticated"], "extra": {"a/b": ["c"]}}
    robot = {"user": "robot", "uid": "8", "groups": ["robots", "system:authenticated"], "extra": {"k": ["v"]}}
    assert asked == [
        ("SubjectAccessReview", about | ann),
        ("TokenReview", {"token": "t"}),
        ("SubjectAccessReview", about | robot),
    ]


def test_reviews_of_users_with_invalid_names(tmp_path: Path, proxies: Authority) -> None:
    """Replace the bytes of proxy headers and tokens that are not UTF-8, and answer as for other users."""
    with _reviewer(tmp_path) as (kubeconfig, asked):
        asked_ones = [f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}"]
        flags = [*asked_ones, "--authentication-skip-lookup", f"--requestheader-client-ca-file={proxies.cert}"]
        with ApiextServer(tmp_path, extra_args=flags) as server:
            proxy = proxies.issue("any")
            server.client_cert, server.client_key = proxy.cert, proxy.key
            headers = {"X-Remote-User": "a\xff", "X-Remote-Group": "\xfe", "X-Remote-Extra-A%ff": "\xc3"}
            assert server.request("GET", "/version", headers=headers)[0] == 200
            assert server.request("GET", "/version", headers={"Authorization": "Bearer \xff"}, credentials=False)[0] == 200
            assert "Traceback" not in server.log

    users = [(spec.get("user"), spec.get("groups"), spec.get("extra")) for kind, spec in asked if kind == "SubjectAccessReview"]
    assert users[0] == ("a\ufffd", ["\ufffd", "system:authenticated"], {"a\ufffd": ["\ufffd"]})
    assert ("TokenReview", {"token": "\ufffd"}) in asked
