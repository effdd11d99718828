"""The two servers that clients are compared on: kube-apiserver, and apiext with the same built-in kinds."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final, Self

from hack.lib.clients import packages
from hack.lib.clients.transcript import Transcript, record
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.kubectl import Kubectl
from hack.lib.servers.process import environment

_DEFINITION: Final = packages.PROGRAMS / "gadgets.yaml"


class Servers(AbstractContextManager["Servers"]):
    """Both servers, with the definition of the programs; each client has a namespace of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plane = ControlPlane(folder / "reference", durable=False)
        self._apiext = ApiextServer(folder / "apiext", extra_args=["--builtin-kinds"])
        self._running = ExitStack()

    def __enter__(self) -> Self:
        """Start both.

        Raises:
            ProcessError: One does not start.
        """
        with ExitStack() as starting:
            starting.enter_context(self._plane)
            starting.enter_context(self._apiext)
            for kubeconfig in self._kubeconfigs().values():
                kubectl = Kubectl(kubeconfig, self._folder)
                kubectl("create", "-f", str(_DEFINITION))
                kubectl("wait", "--for=condition=Established", "crd/gadgets.clients.example.com", "--timeout=60s")
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop both."""
        self._running.close()

    def transcripts(self, client: str, command: list[str]) -> dict[str, Transcript]:
        """Run a client on both servers at the same time and return its transcripts, the reference's first."""

        def run(name: str, kubeconfig: Path) -> Transcript:
            home = self._folder / "homes" / f"{client}-{name}"
            home.mkdir(parents=True)
            Kubectl(kubeconfig, home)("create", "namespace", client)
            return record(command, environment(KUBECONFIG=str(kubeconfig), HOME=str(home), CLIENT_NAMESPACE=client))

        servers = self._kubeconfigs()
        with ThreadPoolExecutor() as threads:
            return dict(zip(servers, threads.map(run, servers, servers.values()), strict=True))

    def _kubeconfigs(self) -> Mapping[str, Path]:
        return {"kube-apiserver": self._plane.kubeconfig, "apiext": self._apiext.kubeconfig}
