"""The servers under comparison, each in its own folder."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.convert_server import ConvertServer
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.resources import process_tree
from hack.lib.waiting import until

SQLITE: Final = "apiext on sqlite"
USER: Final = "bench"
"""An ordinary user with all permissions: API Priority and Fairness does not apply to administrators in system:masters."""
OTHER_USER: Final = "other"


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

    def access(self, user: str = USER) -> dict[str, str]:
        """Return the URL and the files of a user with all permissions under the names that the load generator uses."""
        ...

    def pids(self) -> list[int]:
        """Return the process ids of the servers, without their stores."""
        ...

    def host_pids(self) -> list[int]:
        """Return those of the process ids that only proxy to the server under measurement."""
        ...

    def proxied_port(self) -> int:
        """Return the port to which the host proxies; 0 without a host."""
        ...

    @property
    def etcd(self) -> Etcd | None:
        """The store; None if it is embedded."""


class _Direct:
    """A server to which clients connect themselves."""

    def host_pids(self) -> list[int]:
        """Return no process id; see Target."""
        return []

    def proxied_port(self) -> int:
        """Return no port; see Target."""
        return 0


class Reference(_Direct):
    """The real kube-apiserver on etcd."""

    name = "kube-apiserver"

    def __init__(self, folder: Path) -> None:
        self._plane = ControlPlane(folder)

    def start(self) -> float:
        """Start etcd and kube-apiserver, and measure a restart of kube-apiserver."""
        assert self._plane.etcd
        self._plane.start()
        bind_users(self._plane)
        start = time.monotonic()
        self.restart()
        return time.monotonic() - start

    @contextlib.contextmanager
    def converting(self) -> Iterator[Callable[[str], None]]:
        """Convert by Conversion objects with `apiext convert serve`; their CRD must be there. Yield a function that waits for a CRD."""
        folder = self._plane.folder / "webhook"
        authority = Authority(folder, "webhook-ca")
        pair = authority.issue("webhook")
        files = [f"--tls-cert-file={pair.cert}", f"--tls-private-key-file={pair.key}", f"--ca-file={authority.cert}"]
        with ConvertServer.of_command(folder, [f"--kubeconfig={self._plane.kubeconfig}", "--no-leader-elect", *files]):
            yield self._wait_until_converted

    def _wait_until_converted(self, name: str) -> None:
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        until(lambda: self._plane.client.must("GET", path)["spec"]["conversion"]["strategy"] == "Webhook")

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

    def access(self, user: str = USER) -> dict[str, str]:
        """Return the URL and the files of a user; see Target."""
        return access(self._plane.url, self._plane.ca, self._plane.authority, user)

    def pids(self) -> list[int]:
        """Return the process ids; see Target."""
        return [self._plane.apiserver.pid]

    @property
    def etcd(self) -> Etcd | None:
        """The store; see Target."""
        return self._plane.etcd


class Apiext(_Direct):
    """apiext on etcd, or on its embedded store."""

    def __init__(self, folder: Path, *, embedded: bool = False) -> None:
        self.name = SQLITE if embedded else "apiext"
        self.etcd = None if embedded else Etcd(folder / "etcd")
        self._users = Authority(folder / "users", "users")
        arguments = [f"--client-ca-file={self._users.cert}"]
        self._server = ApiextServer(folder, etcd_url=self.etcd.url if self.etcd else None, extra_args=arguments)

    def start(self) -> float:
        """Start the store, then apiext twice: the measured second start has its certificates, as the reference has."""
        if self.etcd:
            self.etcd.start()
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
        if self.etcd:
            self.etcd.stop()

    def access(self, user: str = USER) -> dict[str, str]:
        """Return the URL and the files of a user; see Target. Without a host, every user may do everything."""
        return access(self._server.url, self._server.ca, self._users, user)

    def pids(self) -> list[int]:
        """Return the process ids; see Target."""
        return process_tree(self._server.pid)


def access(url: str, ca: Path, users: Authority, user: str, groups: Sequence[str] = ()) -> dict[str, str]:
    """Return the URL of a server and the files of a user with a new certificate."""
    pair = users.issue(user, groups=groups)
    return {"URL": url, "CA": str(ca), "Cert": str(pair.cert), "Key": str(pair.key)}


def bind_users(plane: ControlPlane) -> None:
    """Grant all permissions to the users."""
    group = "rbac.authorization.k8s.io"
    subjects = [{"apiGroup": group, "kind": "User", "name": user} for user in (USER, OTHER_USER)]
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": "bench"}, "roleRef": role, "subjects": subjects}
    plane.client.must("POST", f"/apis/{group}/v1/clusterrolebindings", binding)
