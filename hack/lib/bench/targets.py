"""The servers under comparison, each in a folder of its own, and what the kernel says of their processes."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_MIB: Final = 1024


class Target(Protocol):
    """A server that can be measured."""

    name: str

    def start(self) -> float:
        """Start it with its store; the seconds from the start of the server's process to its readiness."""
        ...

    def stop(self) -> None:
        """Stop everything."""
        ...

    def access(self) -> dict[str, str]:
        """URL and files of an admin, as the load generator names them."""
        ...

    def pids(self) -> list[int]:
        """The processes that serve, without their stores."""
        ...


class Reference:
    """The real kube-apiserver on etcd."""

    name = "kube-apiserver"

    def __init__(self, folder: Path) -> None:
        self._plane = ControlPlane(folder)

    def start(self) -> float:
        """Start etcd, then kube-apiserver."""
        assert self._plane.etcd
        self._plane.start()
        start = time.monotonic()
        self._plane.restart_apiserver()
        return time.monotonic() - start

    def stop(self) -> None:
        """Stop both."""
        self._plane.stop()

    def access(self) -> dict[str, str]:
        """See Target."""
        return access(self._plane)

    def pids(self) -> list[int]:
        """See Target."""
        return [self._plane.apiserver.pid]


class Apiext:
    """apiext on etcd, or on its embedded store."""

    def __init__(self, folder: Path, *, embedded: bool = False) -> None:
        self.name = "apiext on sqlite" if embedded else "apiext"
        self._etcd = None if embedded else Etcd(folder / "etcd")
        self._server = ApiextServer(folder, etcd_url=self._etcd.url if self._etcd else None)

    def start(self) -> float:
        """Start etcd where it is used, then apiext twice: the second start has its certificates, as the reference has."""
        if self._etcd:
            self._etcd.start()
        self._server.start()
        self._server.stop()
        start = time.monotonic()
        self._server.start()
        return time.monotonic() - start

    def stop(self) -> None:
        """Stop both."""
        self._server.stop()
        if self._etcd:
            self._etcd.stop()

    def access(self) -> dict[str, str]:
        """See Target."""
        server = self._server
        return {"URL": server.url, "CA": str(server.ca), "Cert": str(server.client_cert), "Key": str(server.client_key)}

    def pids(self) -> list[int]:
        """See Target."""
        return [self._server.pid]


def access(plane: ControlPlane) -> dict[str, str]:
    """URL and files of an admin of kube-apiserver."""
    return {"URL": plane.url, "CA": str(plane.ca), "Cert": str(plane.admin_cert), "Key": str(plane.admin_key)}


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time that processes have used so far."""
    return sum(map(_cpu_seconds, pids))


def resident_mib(pids: Iterable[int]) -> float:
    """Memory of processes that is in RAM, in MiB."""
    return sum(map(_resident_mib, pids))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / _MIB
    return 0.0
