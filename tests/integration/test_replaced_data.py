"""Tests that a server follows a store whose data goes back under it: restored snapshots, old disks, older copies of a file."""

import shutil
import sqlite3
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from hack.lib.reference.binaries import binary
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd, EtcdCluster, gateway
from hack.lib.servers.process import free_port
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.clients.client import Client
from tests.support.clients.informer import Informer

WIDGETS: Final = widgets_path()
GADGETS: Final = widgets_path("gadgets.example")
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
ROLES: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


class Store(ABC):
    """A store that can be saved and put back while a server uses it."""

    server: ApiextServer

    @abstractmethod
    def save(self) -> None:
        """Save the present data."""

    @abstractmethod
    def put_back(self) -> None:
        """Put the saved data in the place of the present."""


class OldDisk(Store):
    """An etcd with the files of an old disk."""

    def __init__(self, folder: Path) -> None:
        self.etcd = Etcd(folder / "etcd", durable=False)
        self.etcd.start()
        self.server = ApiextServer(folder / "apiext", etcd_url=self.etcd.url, extra_args=["--authorization-mode=RBAC"])
        self._data, self._saved = self.etcd.folder / "data", folder / "saved"

    def save(self) -> None:
        """Save the present data."""
        self.etcd.kill()
        shutil.copytree(self._data, self._saved)
        self.etcd.start()

    def put_back(self) -> None:
        """Put the saved data in the place of the present."""
        self.etcd.kill()
        self._replace()
        self.etcd.start()

    def _replace(self) -> None:
        shutil.rmtree(self._data)
        shutil.copytree(self._saved, self._data)


class Snapshot(OldDisk):
    """An etcd that is restored from a snapshot, as the same cluster."""

    TOKEN = "etcd-cluster"

    def __init__(self, folder: Path) -> None:
        self._peer = f"http://127.0.0.1:{free_port()}"
        super().__init__(folder)
        self.etcd.stop()
        self.etcd = Etcd(folder / "etcd", durable=False, peers={"default": self._peer})
        self.etcd.start()
        self.server = ApiextServer(folder / "apiext", etcd_url=self.etcd.url, extra_args=["--authorization-mode=RBAC"])

    def save(self) -> None:
        """Save the present data."""
        subprocess.run(
            [binary("etcdctl"), f"--endpoints={self.etcd.url}", "snapshot", "save", self._saved], check=True, capture_output=True
        )

    def _replace(self) -> None:
        shutil.rmtree(self._data)
        options = [f"--data-dir={self._data}", "--name=default", f"--initial-cluster=default={self._peer}"]
        options += [f"--initial-advertise-peer-urls={self._peer}", f"--initial-cluster-token={self.TOKEN}"]
        subprocess.run([binary("etcdutl"), "snapshot", "restore", self._saved, *options], check=True, capture_output=True)


class OtherCluster(Snapshot):
    """An etcd that is restored from a snapshot, as another cluster."""

    TOKEN = "other"


class Advanced(OldDisk):
    """An etcd with the files of an old disk that grows beyond what the server has seen before the server notices anything."""

    def put_back(self) -> None:
        """Put the saved data in the place of the present."""
        self.server.process.pause()
        try:
            super().put_back()
            for number in range(100):
                gateway(self.etcd.url, "kv/put", key=f"/registry/example.com/widgets/other/{number}".encode(), value=b"{}")
        finally:
            self.server.process.resume()


class File(Store):
    """A file with a name that another file takes."""

    def __init__(self, folder: Path) -> None:
        self.server = ApiextServer(folder, extra_args=["--authorization-mode=RBAC"])
        self.path, self.saved = self.server.data_dir / "apiext.db", folder / "saved.db"

    def save(self) -> None:
        """Save the present data."""
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(self.saved)) as target:
            source.backup(target)

    def put_back(self) -> None:
        """Put the saved data in the place of the present."""
        self.saved.rename(self.path)


class Overwritten(File):
    """A file whose bytes are overwritten, after its log has reached it."""

    def put_back(self) -> None:
        """Put the saved data in the place of the present."""
        self.server.restart()
        shutil.copyfile(self.saved, self.path)


class Rewritten(File):
    """A file into which SQLite's own tools restore a backup."""

    def put_back(self) -> None:
        """Put the saved data in the place of the present."""
        with closing(sqlite3.connect(self.saved)) as source, closing(sqlite3.connect(self.path)) as target:
            source.backup(target)


@pytest.fixture(params=[OldDisk, Snapshot, OtherCluster, Advanced, File, Overwritten, Rewritten])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Start a server on a store of each kind."""
    made: Store = request.param(tmp_path)
    try:
        with made.server:
            yield made
    finally:
        if isinstance(made, OldDisk):
            made.etcd.stop()


def _names(client: Client, path: str = WIDGETS) -> set[str]:
    return {item["metadata"]["name"] for item in client.must("GET", path)["items"]}


def test_follows_data_that_goes_back(store: Store) -> None:
    """Log it, and show what is stored now: objects, definitions, namespaces, policies, roles; keep every later write; end all watches."""
    server = store.server
    with Client(server) as client:
        client.define(widget_crd())
        client.must("POST", WIDGETS, widget("kept", replicas=1))
        client.must("POST", WIDGETS, widget("changed", replicas=1))
        store.save()
        until(lambda: client.ask("GET", "/readyz").status == 200, "being ready")
        with Informer(server, WIDGETS) as informer:
            _change(client)
            informer.wait(lambda: "gone19" in informer.items)
            store.put_back()
            client.close()
            until(lambda: "all objects read again" in server.log, "reading all objects again")
            until(lambda: client.ask("GET", "/readyz").status == 200, "being ready")
            # informers of the server, as those of clients, list again after their watches have ended
            until(lambda: _is_stored(client, "new0"), "a create without the policy")
            created = [client.must("POST", WIDGETS, widget(f"new{number}", replicas=1)) for number in range(1, 40)]
            more = ["new0", *(item["metadata"]["name"] for item in created)]
            items = client.must("GET", WIDGETS)["items"]
            informer.wait_equal(items)

        assert {item["metadata"]["name"] for item in items} == {"kept", "changed", *more}
        assert client.must("GET", f"{WIDGETS}/changed")["spec"]["replicas"] == 1
        assert [client.ask("GET", f"{WIDGETS}/{name}").status for name in ("gone0", *more)] == [404] + [200] * 40
        assert informer.lists == 2
        assert informer.revisions == sorted(informer.revisions)
        assert client.ask("GET", GADGETS).status == 404
        assert client.ask("GET", "/api/v1/namespaces/late").status == 404
        assert _names(client, CRDS) == {"widgets.example.com"}
        assert _names(client, POLICIES) == set()
        assert client.ask("GET", f"{ROLES}/late").status == 404
    assert "store data replaced" in server.log


@pytest.mark.slow
def test_members_that_lag_are_no_alarm(tmp_path: Path) -> None:
    """Go on with the other members, and with one that has missed writes, while each in turn is away; informers do not list again."""
    with EtcdCluster(tmp_path, durable=False) as cluster, ApiextServer(tmp_path / "apiext", etcd_url=cluster.url) as server:
        with Client(server) as client:
            client.define(widget_crd())
            with Informer(server, WIDGETS) as informer:
                for number, member in enumerate(cluster.members):
                    for name in "abcde":
                        until(partial(_is_stored, client, f"{name}{number}a"), "a write")
                    member.kill()
                    for name in "abcde":
                        until(partial(_is_stored, client, f"{name}{number}b"), "a write without a member")
                    member.start()
                items = client.must("GET", WIDGETS)["items"]
                informer.wait_equal(items)
                assert informer.lists == 1
        assert len(items) == 30
        assert "store data replaced" not in server.log


def _is_stored(client: Client, name: str) -> bool:
    """Report whether a widget is stored, after an attempt to create it."""
    return client.ask("POST", WIDGETS, widget(name, replicas=1)).status in (201, 409)


def _change(client: Client) -> None:
    """Make what will be gone."""
    client.merge(f"{WIDGETS}/changed", {"spec": {"replicas": 2}})
    client.define(widget_crd(group="gadgets.example"))
    client.must("POST", "/api/v1/namespaces", {"metadata": {"name": "late"}})
    client.must("POST", ROLES, {"metadata": {"name": "late"}, "rules": []})
    deny = {"validations": [{"expression": "!object.metadata.name.startsWith('new')"}]}
    rule = {"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["widgets"]}
    client.must("POST", POLICIES, {"metadata": {"name": "late"}, "spec": {**deny, "matchConstraints": {"resourceRules": [rule]}}})
    client.must("POST", BINDINGS, {"metadata": {"name": "late"}, "spec": {"policyName": "late", "validationActions": ["Deny"]}})
    for number in range(20):
        client.must("POST", WIDGETS, widget(f"gone{number}", replicas=1))
