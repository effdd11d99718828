"""Runs `apiext serve` as a child process on a free port, with its data in a folder of the test."""

import http.client
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hack.lib.servers.process import Process, Service, environment, free_port
from hack.lib.servers.tls_connection import client_context

_PROBE_SECONDS: Final = 5.0
"""Seconds to wait for an answer of /readyz, as in the manifests."""


class ApiextServer(Service):
    """One `apiext serve`; its address, data and credentials survive a restart.

    It stores objects in SQLite, or in etcd if `etcd_url` is set. Tests that share an etcd use an `etcd_prefix` each.
    """

    patience = 60.0

    def __init__(
        self,
        folder: Path,
        *,
        etcd_url: str | None = None,
        etcd_prefix: str = "/registry",
        crd_dir: Path | None = None,
        extra_args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.etcd_url = etcd_url
        self.etcd_prefix = etcd_prefix
        self.data_dir = folder / "data"
        self.cert_dir = folder / "pki"
        self.ca = self.cert_dir / "apiext-ca.crt"
        self.client_cert = self.cert_dir / "apiext-admin.crt"
        self.client_key = self.cert_dir / "apiext-admin.key"
        self.kubeconfig = self.cert_dir / "apiext.kubeconfig"
        arguments = [f"--secure-port={self.port}", f"--data-dir={self.data_dir}", f"--cert-dir={self.cert_dir}"]
        if etcd_url:
            arguments += [f"--etcd-servers={etcd_url}", f"--etcd-prefix={etcd_prefix}"]
        if crd_dir:
            arguments.append(f"--crd-dir={crd_dir}")
        self.process = Process(
            [sys.executable, "-m", "apiext", "serve", *arguments, *extra_args],
            folder / "apiext.log",
            environment(**(env or {})),
        )

    @property
    def pid(self) -> int:
        """Return the process id of the server."""
        return self.process.pid

    @property
    def log(self) -> str:
        """Return the log."""
        return self.process.log.read_text(errors="replace")

    def ssl_context(self, *, credentials: bool = True) -> ssl.SSLContext:
        """Return a client context that trusts the server, with the administrator's certificate or without any."""
        return client_context(self.ca, self.client_cert, self.client_key) if credentials else client_context(self.ca)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        credentials: bool = True,
        timeout: float = 30,
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Send a request on a connection of its own and return status, headers and body; the administrator sends it by default."""
        context = self.ssl_context(credentials=credentials)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)
        try:
            connection.request(method, path, body=body, headers=dict(headers or {}))
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def ready(self) -> bool:
        """Report whether /readyz answers 200.

        Raises:
            OSError: Nothing listens on the port; TimeoutError: there is no answer in time.
        """
        if not self.ca.exists():
            return False
        try:
            return self.request("GET", "/readyz", credentials=False, timeout=_PROBE_SECONDS)[0] == http.HTTPStatus.OK
        except http.client.HTTPException:
            return False


class BareServer(ApiextServer):
    """`apiext serve` without garbage collection, which kube-apiserver has only with kube-controller-manager."""

    def __init__(self, folder: Path, *, extra_args: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(folder, extra_args=["--garbage-collection=false", *extra_args], **settings)
