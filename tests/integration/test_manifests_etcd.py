"""Tests of the etcd of the manifests, with each member on its own loopback address."""

import http.client
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from apiext.base.tls_trust import trusting_context
from hack.lib.manifests import Document, arguments, built, containers, one
from hack.lib.reference import binaries
from hack.lib.servers.certificates import Authority, KeyPair
from hack.lib.servers.process import Process, environment

CLIENT, HEALTH = 2379, 2381
PATIENCE: Final = 60.0


class Members:
    """The pods of the StatefulSet without their certificates."""

    def __init__(self, build: str, folder: Path) -> None:
        stateful: Document = one(built(build), "StatefulSet", "apiext-etcd")
        (self._container,) = containers(stateful)
        self._folder = folder
        network = f"127.{secrets.randbelow(250) + 2}.{secrets.randbelow(250) + 2}"
        self.addresses = {f"apiext-etcd-{number}": f"{network}.{number + 1}" for number in range(stateful["spec"]["replicas"])}

    @contextmanager
    def started(self, **files: Path) -> Iterator[None]:
        """Start all members and return when they are healthy; `files` maps the files of the certificate volume by name."""
        with ExitStack() as stack:
            processes = {name: self._process(name, files) for name in self.addresses}
            for process in processes.values():
                stack.callback(process.kill)
                process.start()
            for name, process in processes.items():
                process.wait_until(lambda: self.healthy(name, "/readyz") and self.healthy(name, "/livez"), PATIENCE)  # noqa: B023 -- called at once
            yield

    def healthy(self, name: str, path: str) -> bool:
        """Report whether the kubelet's probe would succeed."""
        connection = http.client.HTTPConnection(self.addresses[name], HEALTH, timeout=30)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        finally:
            connection.close()

    def ask(self, name: str, authority: Path, pair: KeyPair | None) -> int:
        """Return the status code of a client's request."""
        context = trusting_context(cafile=authority)
        if pair:
            context.load_cert_chain(pair.cert, pair.key)
        connection = http.client.HTTPSConnection(self.addresses[name], CLIENT, timeout=30, context=context)
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


def test_three_members_form_a_cluster(tmp_path: Path) -> None:
    """Form a cluster of three members with the flags of the base, healthy at their probes."""
    members = Members("base", tmp_path)

    with members.started():
        assert len(members.addresses) == 3


def test_members_with_certificates(tmp_path: Path) -> None:
    """Form a cluster with the certificates of cert-manager, and accept clients with a certificate of its authority."""
    members = Members("overlays/cert-manager", tmp_path)
    authority = Authority(tmp_path / "pki")
    # Peers on this machine connect from 127.0.0.1, whatever address they listen on.
    pair = authority.issue("apiext-etcd", hosts=(*members.addresses.values(), "127.0.0.1"))
    client = authority.issue("apiext", hosts=("apiext",))

    with members.started(ca_crt=authority.cert, tls_crt=pair.cert, tls_key=pair.key):
        assert [members.ask(name, authority.cert, client) for name in members.addresses] == [200] * 3
        with pytest.raises(OSError, match=r"(?i)certificate|reset|EOF|closed"):
            members.ask("apiext-etcd-0", authority.cert, None)
