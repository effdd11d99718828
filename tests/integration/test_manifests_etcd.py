"""The etcd of the manifests, started as its pods would be, each member on a loopback address of its own."""

import http.client
import secrets
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from hack.lib.manifests import Document, arguments, built, containers, one
from hack.lib.reference import binaries
from hack.lib.servers.certificates import Authority, KeyPair
from hack.lib.servers.process import Process, environment

CLIENT, HEALTH = 2379, 2381
PATIENCE: Final = 60.0


class Members:
    """The pods of the StatefulSet, without their certificates."""

    def __init__(self, build: str, folder: Path) -> None:
        stateful: Document = one(built(build), "StatefulSet", "apiext-etcd")
        (self._container,) = containers(stateful)
        self._folder = folder
        network = f"127.{secrets.randbelow(250) + 2}.{secrets.randbelow(250) + 2}"
        self.addresses = {f"apiext-etcd-{number}": f"{network}.{number + 1}" for number in range(stateful["spec"]["replicas"])}

    @contextmanager
    def started(self, **files: Path) -> Iterator[None]:
        """All of them, healthy; `files` are those that certificates are read from, by their names in the volume."""
        with ExitStack() as stack:
            processes = {name: self._process(name, files) for name in self.addresses}
            for process in processes.values():
                stack.callback(process.kill)
                process.start()
            for name, process in processes.items():
                process.wait_until(lambda: self.healthy(name, "/readyz") and self.healthy(name, "/livez"), PATIENCE)  # noqa: B023 -- called at once
            yield

    def healthy(self, name: str, path: str) -> bool:
        """What a probe of the kubelet is told."""
        connection = http.client.HTTPConnection(self.addresses[name], HEALTH, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        finally:
            connection.close()

    def ask(self, name: str, authority: Path, pair: KeyPair | None) -> int:
        """The code of an answer to a client."""
        context = ssl.create_default_context(cafile=authority)
        if pair:
            context.load_cert_chain(pair.cert, pair.key)
        connection = http.client.HTTPSConnection(self.addresses[name], CLIENT, timeout=5, context=context)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status
        finally:
            connection.close()

    def _process(self, name: str, files: dict[str, Path]) -> Process:
        texts = []
        for argument in arguments(self._container):
            text = argument.replace("of-POD_NAME", name).replace("0.0.0.0", self.addresses[name])
            text = text.replace("/var/lib/etcd", str(self._folder / name))
            for member, address in self.addresses.items():
                text = text.replace(f"{member}.apiext-etcd.apiext-system.svc", address)
            for file, path in files.items():
                text = text.replace(f"/etc/etcd/pki/{file.replace('_', '.')}", str(path))
            texts.append(text)
        return Process([binaries.binary("etcd"), *texts, "--unsafe-no-fsync"], self._folder / f"{name}.log", environment())


def test_three_members_find_each_other(tmp_path: Path) -> None:
    """With the base's flags three members agree, and say so where their probes ask."""
    members = Members("base", tmp_path)

    with members.started():
        assert len(members.addresses) == 3


def test_members_with_certificates(tmp_path: Path) -> None:
    """With those of cert-manager they agree, too, and let in who has a certificate of their authority."""
    members = Members("overlays/cert-manager", tmp_path)
    authority = Authority(tmp_path / "pki")
    # peers of this machine come from 127.0.0.1, wherever they listen
    pair = authority.issue("apiext-etcd", hosts=(*members.addresses.values(), "127.0.0.1"))
    client = authority.issue("apiext", hosts=("apiext",))

    with members.started(ca_crt=authority.cert, tls_crt=pair.cert, tls_key=pair.key):
        assert [members.ask(name, authority.cert, client) for name in members.addresses] == [200] * 3
        with pytest.raises(OSError, match=r"(?i)certificate|reset|EOF|closed"):
            members.ask("apiext-etcd-0", authority.cert, None)
