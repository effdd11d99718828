"""The servers under comparison, each in its own folder."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.resources import process_tree

SQLITE: Final = "apiext on sqlite"


class Target(Protocol):
    """A server that can be measured."""

    name: str

    def start(self) -> float:
        """Start the server with its store, and return the seconds from the start of the process until it is ready."""
        ...

    def restart(self) -> None:
        """Restart the server, not its store, and return when it is ready."""
        ...

    def stop(self) -> None:
        """Stop the server and its store."""
        ...

    def access(self) -> dict[str, str]:
        """Return the URL and the files of an administrator under the names that the load generator uses."""
        ...

    def pids(self) -> list[int]:
        """Return the process ids of the servers, without their stores."""
        ...

    def store_pids(self) -> list[int]:
        """Return the process ids of the stores."""
        ...


class Reference:
    """The real kube-apiserver on etcd."""

    name = "kube-apiserver"

    def __init__(self, folder: Path) -> None:
        self._plane = ControlPlane(folder)

    def start(self) -> float:
        """Start etcd and kube-apiserver, and measure a restart of kube-apiserver."""
        assert self._plane.etcd
        self._plane.start()
        start = time.monotonic()
        self.restart()
        return time.monotonic() - start

    def restart(self) -> None:
        """Restart kube-apiserver; see Target."""
        self._plane.restart_apiserver()

    def stop(self) -> None:
        """Stop kube-apiserver and etcd."""
        self._plane.stop()

    @contextlib.contextmanager
    def controllers(self) -> Iterator[None]:
        """Run kube-controller-manager."""
        manager = self._plane.controllers()
        manager.start()
        try:
            yield
        finally:
            manager.stop()

    def access(self) -> dict[str, str]:
        """Return the URL and the files of an administrator; see Target."""
        return access(self._plane)

    def pids(self) -> list[int]:
        """Return the process ids; see Target."""
        return [self._plane.apiserver.pid]

    def store_pids(self) -> list[int]:
        """Return the process id of etcd; see Target."""
        return [self._plane.etcd.process.pid] if self._plane.etcd else []


class Apiext:
    """apiext on etcd, or on its embedded store."""

    def __init__(self, folder: Path, *, embedded: bool = False) -> None:
        self.name = SQLITE if embedded else "apiext"
        self._etcd = None if embedded else Etcd(folder / "etcd")
        self._server = ApiextServer(folder, etcd_url=self._etcd.url if self._etcd else None)

    def start(self) -> float:
        """Start the store, then apiext twice: the measured second start has its certificates, as the reference has."""
        if self._etcd:
            self._etcd.start()
        self._server.start()
        self._server.stop()
        start = time.monotonic()
        self._server.start()
        return time.monotonic() - start

    def restart(self) -> None:
        """Restart apiext; see Target."""
        self._server.restart()

    def stop(self) -> None:
        """Stop apiext and its store."""
        self._server.stop()
        if self._etcd:
            self._etcd.stop()

    def access(self) -> dict[str, str]:
        """Return the URL and the files of an administrator; see Target."""
        server = self._server
        return {"URL": server.url, "CA": str(server.ca), "Cert": str(server.client_cert), "Key": str(server.client_key)}

    def pids(self) -> list[int]:
        """Return the process ids; see Target."""
        return process_tree(self._server.pid)

    def store_pids(self) -> list[int]:
        """Return the process id of etcd; see Target."""
        return [self._etcd.process.pid] if self._etcd else []


def access(plane: ControlPlane) -> dict[str, str]:
    """Return the URL and the files of an administrator of kube-apiserver."""
    return {"URL": plane.url, "CA": str(plane.ca), "Cert": str(plane.admin_cert), "Key": str(plane.admin_key)}
