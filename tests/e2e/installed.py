"""A cluster with the applied manifests; the programs of the pods run with other addresses and paths only."""

import base64
import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from hack.lib.manifests import NAMESPACE, arguments, built, containers, one
from hack.lib.servers.caller import Caller
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.kubectl import Kubectl
from hack.lib.servers.process import Process, environment

SERVER: Final = "apiext-server"
OPERATOR: Final = "apiext-operator"
SECRET: Final = f"/api/v1/namespaces/{NAMESPACE}/secrets/apiext-serving"
_ACCOUNTS: Final = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
_IN_POD: Final = """
import os, pathlib, sys
from apiext.base.webhook.clientcmd import service_account
service_account.load.__defaults__ = (os.environ, pathlib.Path(sys.argv.pop(1)))
from apiext.cli.main import main
main()
"""
"""Starts the command where the service account is mounted in another folder than a pod's."""


class InstalledBuild:
    """The host (`plane`, administrator `host`) with all objects of a build of the manifests."""

    def __init__(self, folder: Path, build: str, accounts: Sequence[str], *, controllers: bool) -> None:
        self.folder = folder
        self.documents = built(build)
        self._audit = folder / "audit.log"
        policy = folder / "audit.json"
        policy.write_text(json.dumps(_policy(accounts)))
        flags = [f"--audit-policy-file={policy}", f"--audit-log-path={self._audit}", "--audit-log-mode=blocking"]
        self.plane = ControlPlane(folder / "host", durable=False, controller_manager=controllers, extra_args=flags)
        self.host = Caller(self.plane.url, self.plane.ca, self.plane.admin)
        self.kubectl = Kubectl(self.plane.kubeconfig, folder)

    def __enter__(self) -> Self:
        """Start all programs, and apply the build."""
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.plane.__exit__()

    def start(self) -> None:
        """Start the host, and apply the build."""
        self.plane.start()
        self.apply(self.documents)

    def point_service_here(self, name: str) -> None:
        """Let a Service lead to the programs on this machine."""
        service = f"/api/v1/namespaces/{NAMESPACE}/services"
        self.host.must("DELETE", f"{service}/{name}")
        self.host.must("POST", service, {"metadata": {"name": name}, "spec": {"type": "ExternalName", "externalName": "localhost"}})

    def apply(self, documents: list[dict[str, Any]]) -> None:
        """Apply manifests as the README says."""
        self.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))

    def token(self, account: str) -> str:
        """Return a token as the kubelet requests it."""
        answer = self.host.must("POST", f"{_ACCOUNTS}/{account}/token", {"spec": {}})
        return str(answer["status"]["token"])

    def as_account(self, account: str) -> Caller:
        """Return a client of the host for a service account."""
        return Caller(self.plane.url, self.plane.ca, token=self.token(account))

    def pod(self, deployment: str, name: str, changes: Mapping[str, str]) -> Process:
        """Return the program of a Deployment's pod with its service account; `changes` replaces flags for this machine."""
        document = one(self.documents, "Deployment", deployment)
        (container,) = containers(document)
        words = arguments(container)
        command = [word for word in words if not word.startswith("--")]
        given = dict(flag.partition("=")[::2] for flag in words if flag.startswith("--"))
        given |= changes
        folder = self.folder / name
        account = folder / "serviceaccount"
        account.mkdir(parents=True)
        (account / "token").write_text(self.token(document["spec"]["template"]["spec"]["serviceAccountName"]))
        (account / "ca.crt").write_bytes(self.plane.ca.read_bytes())
        arguments_here = [f"{flag}={text}" if text else flag for flag, text in given.items()]
        env = environment(
            HOME=str(folder / "home"),
            KUBERNETES_SERVICE_HOST="127.0.0.1",
            KUBERNETES_SERVICE_PORT=str(self.plane.port),
            PYTHONPATH=str(Path.cwd()),
        )
        return Process([sys.executable, "-c", _IN_POD, account, *command, *arguments_here], folder / "log", env)

    def requests(self, account: str) -> Iterator[dict[str, Any]]:
        """Return the requests of a service account to the host."""
        user = f"system:serviceaccount:{NAMESPACE}:{account}"
        for line in self._audit.read_text().splitlines():
            event = json.loads(line)
            if event["user"]["username"] == user:
                yield event

    def forbidden(self, account: str) -> list[tuple[str, str]]:
        """Return verbs and paths that a service account was denied."""
        events = self.requests(account)
        return [
            (event["verb"], event["requestURI"]) for event in events if event["annotations"]["authorization.k8s.io/decision"] != "allow"
        ]


def _policy(accounts: Sequence[str]) -> dict[str, Any]:
    """Return the audit policy that logs the requests of service accounts."""
    users = [f"system:serviceaccount:{NAMESPACE}:{account}" for account in accounts]
    rules = [{"level": "Metadata", "users": users}, {"level": "None"}]
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules}


class Installed(InstalledBuild):
    """The host with all objects of the base, and an etcd (`etcd`) in place of the base's."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "base", (SERVER, OPERATOR), controllers=True)
        self.etcd = Etcd(folder / "etcd", durable=False)

    def start(self) -> None:
        """Start all programs, and apply the base."""
        self.etcd.start()
        super().start()
        self.point_service_here("apiext")

    def __exit__(self, *_exc: object) -> None:
        self.etcd.stop()
        super().__exit__()


class Mounted:
    """A Secret of the host as files, replaced atomically through a link as by a kubelet."""

    def __init__(self, installed: Installed, folder: Path, *, path: str = SECRET) -> None:
        self.folder = folder
        self._host = installed.host
        self._path = path
        self._version = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        folder.mkdir(parents=True)

    def __enter__(self) -> Self:
        """Start all programs, and apply the base."""
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        self._thread.join(20)

    def _follow(self) -> None:
        while not self._stop.wait(0.2):
            with suppress(OSError):
                code, secret = self._host.ask("GET", self._path)
                if code == 200 and secret["metadata"]["resourceVersion"] != self._version:
                    self._version = secret["metadata"]["resourceVersion"]
                    self._write({name: base64.b64decode(text) for name, text in secret["data"].items()})

    def _write(self, data: dict[str, bytes]) -> None:
        version = self.folder / f"..{self._version}"
        version.mkdir()
        for name, content in data.items():
            (version / name).write_bytes(content)
        link = self.folder / "..data_tmp"
        link.symlink_to(version.name)
        link.replace(self.folder / "..data")
        for name in data:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(Path("..data") / name)
