"""The programs of the manifests' pods, in a cluster with the applied manifests."""

from contextlib import ExitStack
from typing import Self

from hack.lib.servers.caller import Caller
from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.process import Process, free_port
from hack.lib.waiting import PATIENCE, until
from tests.e2e.installed import Installed, Mounted


class Pods:
    """One server and the operator, as the manifests start them."""

    def __init__(self, installed: Installed) -> None:
        self.installed = installed
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.mounted = Mounted(installed, installed.folder / "serving")
        self.server = installed.pod(
            "apiext",
            "server",
            {
                "--bind-address": "127.0.0.1",
                "--secure-port": str(self.port),
                "--etcd-servers": installed.etcd.url,
                "--tls-cert-file": str(self.mounted.folder / "tls.crt"),
                "--tls-private-key-file": str(self.mounted.folder / "tls.key"),
                "--shutdown-delay-duration": "0s",
                "--v": "3",
            },
        )
        self.operator = self.another_operator("operator", self.url)

    def __enter__(self) -> Self:
        """Start both programs; the server waits for the Secret that the operator creates."""
        with ExitStack() as stack:
            stack.enter_context(self.mounted)
            for process in (self.operator, self.server):
                stack.callback(process.stop)
            self.operator.start()
            until(lambda: (self.mounted.folder / "tls.key").exists() and (self.mounted.folder / "tls.crt").exists())
            self.server.start()
            self.server.wait_until(lambda: self.caller().ask("GET", "/readyz")[0] == 200, PATIENCE)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def another_operator(self, name: str, server: str) -> Process:
        """Return an operator with another URL of the server, which the certificate has to cover."""
        changes = {
            "--service-port": str(self.port),
            "--server": server,
            "--host-etcd-servers": self.installed.plane.etcd_url,
            "--metrics-bind-address": "127.0.0.1:0",
            "--v": "2",
        }
        return self.installed.pod("apiext-operator", name, changes)

    def caller(self, pair: KeyPair | None = None, token: str = "") -> Caller:
        """Return a client of the server itself."""
        return Caller(self.url, self.mounted.folder / "ca.crt", pair, token=token)
