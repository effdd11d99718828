"""Runs etcd on the loopback address, with one member or several."""

import base64
import http.client
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from hack.lib.reference import binaries
from hack.lib.servers.certificates import Authority
from hack.lib.servers.process import Process, Service, environment, free_port
from hack.lib.servers.tls_connection import client_context


class Etcd(Service):
    """One member with its data in a folder; its port survives a restart.

    With `authority` it serves TLS and requires a client certificate of that authority (a client needs the files `ca`, `cert`
    and `key`). Without `durable` it does not wait for the disk: this is fast, and still survives kill -9 of etcd. `peers` maps the names
    of the members to their peer URLs; `name` is the name of this member, which listens for the others at `peer_url` if this is not the
    URL that they use. `program` is another etcd than the pinned one, with more environment variables in `env`.
    """

    patience = 60.0

    def __init__(
        self,
        folder: Path,
        *,
        authority: Authority | None = None,
        durable: bool = True,
        name: str = "default",
        peers: Mapping[str, str] | None = None,
        peer_url: str = "",
        program: Path | None = None,
        env: Mapping[str, str] | None = None,
        extra_args: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.port = free_port()
        scheme = "https" if authority else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.ca: Path | None = None
        self.cert: Path | None = None
        self.key: Path | None = None
        members = peers or {name: f"http://127.0.0.1:{free_port()}"}
        arguments = [*self._arguments(name, members, peer_url), *([] if durable else ["--unsafe-no-fsync"]), *extra_args]
        if authority:
            pair = authority.issue("etcd")
            self.ca, self.cert, self.key = authority.cert, pair.cert, pair.key
            arguments += [
                f"--cert-file={pair.cert}",
                f"--key-file={pair.key}",
                f"--trusted-ca-file={authority.cert}",
                "--client-cert-auth",
            ]
        self.process = Process([program or binaries.binary("etcd"), *arguments], folder / "etcd.log", environment(**(env or {})))

    def _arguments(self, name: str, members: Mapping[str, str], peer_url: str) -> list[str]:
        peer = members[name]
        return [
            f"--name={name}",
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer_url or peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster={','.join(f'{one}={url}' for one, url in members.items())}",
            "--log-level=warn",
        ]

    def pause(self) -> None:
        """Stop the process, as `Process.pause` does."""
        self.process.pause()

    def resume(self) -> None:
        """Continue the process after `pause`."""
        self.process.resume()

    def status(self) -> Any:
        """Return the status of the member and its leader; only without TLS."""
        return gateway(self.url, "maintenance/status")

    def ready(self) -> bool:
        """Report whether the member is healthy.

        Raises:
            OSError: Nothing listens on the port.
        """
        host = urlsplit(self.url).netloc
        if self.ca and self.cert:
            context = client_context(self.ca, self.cert, self.key)
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, timeout=2, context=context)
        else:
            connection = http.client.HTTPConnection(host, timeout=2)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except http.client.HTTPException:
            return False
        finally:
            connection.close()


def gateway(url: str, call: str, **members: Any) -> Any:
    """Send a call to the JSON gateway of an etcd without TLS, and return the answer; bytes are sent in base64."""
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as connection:
        connection.request("POST", f"/v3/{call}", json.dumps(members, default=lambda data: base64.b64encode(data).decode()))
        response = connection.getresponse()
        answer = json.loads(response.read())
    assert response.status == http.HTTPStatus.OK, answer
    return answer


class EtcdCluster:
    """Members of one cluster, without TLS; `url` lists all of them. `members` are given, or `count` of them are made in a folder."""

    def __init__(self, folder: Path, *, count: int = 3, durable: bool = True, members: Sequence[Etcd] = ()) -> None:
        peers = {f"m{number}": f"http://127.0.0.1:{free_port()}" for number in range(count)}
        self.members = list(members) or [Etcd(folder / name, durable=durable, name=name, peers=peers) for name in peers]
        self.url = ",".join(member.url for member in self.members)

    def start(self) -> Self:
        """Start the members that are not running, and wait until all are ready.

        Raises:
            ProcessError: A member does not start; all are stopped.
        """
        try:
            for member in self.members:
                if not member.process.running:
                    member.process.start()
            for member in self.members:
                member.process.wait_until(member.ready, member.patience)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill all members."""
        for member in self.members:
            member.kill()

    def leader(self) -> Etcd:
        """Return the current leader.

        Raises:
            AssertionError: There is no leader.
        """
        for member in self.members:
            if member.process.running:
                status = member.status()
                if status["leader"] == status["header"]["member_id"]:
                    return member
        raise AssertionError("no member leads")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_exc: object) -> None:
        self.stop()
