"""Runs the reference, a real kube-apiserver with etcd, on the loopback address."""

import base64
import http
import json
import ssl
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from hack.lib.reference import binaries
from hack.lib.servers.caller import Caller
from hack.lib.servers.certificates import Authority, KeyPair, write_key
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.process import Process, environment, free_port
from hack.lib.servers.tls_connection import client_context

_READY: Final = 120.0
_GRACE: Final = 5.0
_QUICK: Final = {"GOGC": "400"}
"""Less frequent garbage collection: a kube-apiserver that starts takes a fifth less processor time, and a third more memory."""


class ControlPlane:
    """etcd, kube-apiserver and, with `controller_manager`, kube-controller-manager, with all files in one folder.

    With `etcd_url` it uses a running etcd below `etcd_prefix` and does not stop it. Without `durable` its own etcd does not wait for
    the disk, the programs collect garbage less often, and the block kills them at its end: nobody reads their data after it.
    `front_proxy` is the authority of the aggregation layer, `proxy_client` its client certificate.
    """

    def __init__(
        self,
        folder: Path,
        *,
        etcd_url: str | None = None,
        etcd_prefix: str = "/registry",
        controller_manager: bool = False,
        durable: bool = True,
        extra_args: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.etcd = None if etcd_url else Etcd(folder / "etcd", durable=durable)
        self._kept = durable or self.etcd is None
        self.etcd_url = etcd_url or (self.etcd.url if self.etcd else "")
        self.etcd_prefix = etcd_prefix
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.authority = Authority(folder / "pki", "ca")
        self.front_proxy = Authority(folder / "pki" / "front-proxy", "front-proxy-ca")
        self.serving = self.authority.issue("kube-apiserver")
        self.admin = self.authority.issue("admin", groups=["system:masters"])
        self.proxy_client = self.front_proxy.issue("front-proxy-client")
        self.service_account_key = write_key(folder / "pki" / "service-account.key")
        self.kubeconfig = self.write_kubeconfig("admin", self.admin)
        self.apiserver = Process(
            [binaries.binary("kube-apiserver"), *self._flags(controllers=controller_manager), *extra_args],
            folder / "kube-apiserver.log",
            environment(**({} if durable else _QUICK)),
        )
        self.controller_manager = self.controllers() if controller_manager else None

    @property
    def ca(self) -> Path:
        """Return the certificate of the authority of the server and its clients."""
        return self.authority.cert

    @cached_property
    def client(self) -> Caller:
        """Return a client that sends requests as administrator."""
        return Caller(self.url, self.ca, self.admin)

    @property
    def admin_cert(self) -> Path:
        """Return the client certificate of a user in group system:masters."""
        return self.admin.cert

    @property
    def admin_key(self) -> Path:
        """Return the key of `admin_cert`."""
        return self.admin.key

    def start(self) -> Self:
        """Start all programs and return when the server is ready and has the namespace `default`.

        Raises:
            ProcessError: A program does not start; the others are stopped.
        """
        try:
            if self.etcd:
                self.etcd.start()
            self._start_apiserver()
            if self.controller_manager:
                self.controller_manager.start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop all programs that were started here and keep the folder."""
        if self.controller_manager:
            self.controller_manager.stop(_GRACE)
        self.apiserver.stop(_GRACE)
        if self.etcd:
            self.etcd.stop()

    def restart_apiserver(self) -> None:
        """Stop kube-apiserver and start it again with the same address and data."""
        self.apiserver.stop(_GRACE)
        self._start_apiserver()

    def __enter__(self) -> Self:
        return self.start()

    def kill(self) -> None:
        """Kill all programs that were started here and keep the folder."""
        for program in (self.controller_manager, self.apiserver, self.etcd):
            if program:
                program.kill()

    def __exit__(self, *_exc: object) -> None:
        if self._kept:
            self.stop()
        else:
            self.kill()

    def ssl_context(self) -> ssl.SSLContext:
        """Return a client context with the administrator's certificate."""
        return client_context(self.ca, self.admin_cert, self.admin_key)

    def write_kubeconfig(self, name: str, user: KeyPair) -> Path:
        """Write a kubeconfig for a client certificate, with all files inline."""
        path = self.folder / f"{name}.kubeconfig"
        cluster = {"server": self.url, "certificate-authority-data": _data(self.ca)}
        credentials = {"client-certificate-data": _data(user.cert), "client-key-data": _data(user.key)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "reference", "cluster": cluster}],
            "users": [{"name": name, "user": credentials}],
            "contexts": [{"name": "reference", "context": {"cluster": "reference", "user": name}}],
            "current-context": "reference",
        }
        path.write_text(json.dumps(config, indent=2) + "\n")
        path.chmod(0o600)
        return path

    def controllers(self, *flags: str) -> Process:
        """Return a kube-controller-manager with additional flags; the caller starts and stops it."""
        name = "system:kube-controller-manager"
        kubeconfig = self.write_kubeconfig("kube-controller-manager", self.authority.issue(name))
        own = [
            f"--kubeconfig={kubeconfig}",
            "--leader-elect=false",
            "--secure-port=0",
            "--use-service-account-credentials",
            f"--root-ca-file={self.ca}",
            f"--service-account-private-key-file={self.service_account_key}",
            f"--cluster-signing-cert-file={self.authority.pair.cert}",
            f"--cluster-signing-key-file={self.authority.pair.key}",
        ]
        program = binaries.binary("kube-controller-manager")
        return Process([program, *own, *flags], self.folder / "kube-controller-manager.log", environment())

    def _start_apiserver(self) -> None:
        self.apiserver.start()
        self.apiserver.wait_until(self._ready, _READY)

    def _ready(self) -> bool:
        return all(self.client.ask("GET", path)[0] == http.HTTPStatus.OK for path in ("/readyz", "/api/v1/namespaces/default"))

    def _flags(self, *, controllers: bool) -> list[str]:
        # Only the controller manager creates service accounts, which this admission plugin would wait for.
        admission = [] if controllers else ["--disable-admission-plugins=ServiceAccount"]
        return [
            f"--etcd-servers={self.etcd_url}",
            f"--etcd-prefix={self.etcd_prefix}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self.serving.cert}",
            f"--tls-private-key-file={self.serving.key}",
            f"--client-ca-file={self.ca}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.service_account_key}",
            f"--service-account-signing-key-file={self.service_account_key}",
            f"--requestheader-client-ca-file={self.front_proxy.cert}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self.proxy_client.cert}",
            f"--proxy-client-key-file={self.proxy_client.key}",
            *admission,
        ]


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
