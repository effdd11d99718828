"""A server that does nothing behind kube-apiserver's aggregator: what remains is the cost of the aggregator."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from hack.lib.bench import loadgen, workload
from hack.lib.bench.targets import USER, access, bind_users
from hack.lib.servers.aggregated_cluster import NAMESPACE, SERVICE, AggregatedCluster
from hack.lib.servers.etcd import Etcd

NAME: Final = "null server behind it"
ROWS: Final = ("create", "get", "discovery", "update", "merge patch", "status patch", "apply", "list of all", "delete")
"""Rows whose requests it can answer."""
_OBJECTS: Final = 2000
"""Objects in the answers of lists."""


class NullServer:
    """A kube-apiserver that proxies the group under load to a server with prepared answers.

    With `http2` the server offers HTTP/2 to the aggregator.
    """

    def __init__(self, folder: Path, binary: Path, *, http2: bool = False) -> None:
        self.name = NAME
        self._program = loadgen.null_server(binary)
        self._cluster = AggregatedCluster(folder, controller_manager=False, operator=False, durable=True)
        self._http2 = http2
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        """Start all programs and register the group; return the seconds until the server listens."""
        self._cluster.__enter__()
        bind_users(self._cluster.plane)
        # what serves the group is not apiext, which only lends its Service and its certificate
        self._cluster.apiext.stop()
        start = time.monotonic()
        self.restart()
        seconds = time.monotonic() - start
        self._cluster.register(workload.GROUP, "v1")
        return seconds

    def restart(self) -> None:
        """Restart the server; see Target."""
        self._end()
        self._process = subprocess.Popen([self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(self._settings()) + "\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def stop(self) -> None:
        """Stop all programs."""
        self._end()
        self._cluster.__exit__()

    def _end(self) -> None:
        if self._process is not None:
            with self._process:
                self._process.kill()

    def access(self, user: str = USER) -> dict[str, str]:
        """Return the URL and the files of a user; see Target."""
        plane = self._cluster.plane
        return access(plane.url, plane.ca, plane.authority, user)

    def pids(self) -> list[int]:
        """Return the process ids; see Target."""
        return [*self.host_pids(), *([self._process.pid] if self._process else [])]

    def host_pids(self) -> list[int]:
        """Return the process ids of the host; see Target."""
        return [self._cluster.plane.apiserver.pid]

    def proxied_port(self) -> int:
        """Return no port: its connections are not counted; see Target."""
        return 0

    @property
    def etcd(self) -> Etcd | None:
        """The store; see Target."""
        return None

    def _settings(self) -> dict[str, Any]:
        """Return the settings of the program: see hack/loadgen/null."""
        serving = self._cluster.authority.issue(SERVICE, hosts=(f"{SERVICE}.{NAMESPACE}.svc", "127.0.0.1", "localhost"))
        one = json.loads(workload.body("load", revision=True).replace("{rv}", "1"))
        listed = {"kind": "LoadList", "apiVersion": f"{workload.GROUP}/v1", "metadata": {"resourceVersion": "1"}, "items": [one] * _OBJECTS}
        resource = {"name": "loads", "singularName": "load", "namespaced": True, "kind": "Load", "verbs": ["get", "list", "watch"]}
        found = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{workload.GROUP}/v1", "resources": [resource] * 2}
        answers = {workload.COLLECTION: listed, f"/apis/{workload.GROUP}/v1": found}
        return {
            "Address": f"127.0.0.1:{self._cluster.apiext.port}",
            "Cert": str(serving.cert),
            "Key": str(serving.key),
            "HTTP2": self._http2,
            "Answers": {path: json.dumps(body) for path, body in answers.items()},
            "Other": json.dumps(one),
        }
