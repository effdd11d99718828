"""Tests of `apiext backup` and `apiext restore` beside running servers, with an informer that goes on afterwards."""

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.client import CRDS, Client
from tests.support.clients.informer import Informer

NAME: Final = "widgets.example.com"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
STRICT: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string", "maxLength": 3}}}},
}


def run(*arguments: str, code: int = 0) -> str:
    """Run the command and return what it prints."""
    done = subprocess.run([sys.executable, "-m", "apiext", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if not code else done.stderr


def store_flags(server: ApiextServer) -> list[str]:
    """Return the flags that name the store of a server."""
    if server.etcd_url:
        return [f"--etcd-servers={server.etcd_url}", f"--etcd-prefix={server.etcd_prefix}"]
    return [f"--data-dir={server.data_dir}"]


def listed(client: Client) -> list[dict[str, Any]]:
    """Return all widgets."""
    items: list[dict[str, Any]] = client.must("GET", WIDGETS)["items"]
    return items


def test_informers_after_a_restoration(own_server: ApiextServer, tmp_path: Path) -> None:
    """Restore a backup of a running server after it has lost and changed objects: an informer lists again and ends equal to a fresh list.

    A running server's store is not replaced. Everything but resourceVersions is as it was, invalid objects included.
    """
    archive, flags = str(tmp_path / "b.tar.gz"), store_flags(own_server)
    with Client(own_server) as client:
        client.define(crd("widgets", version("v1", storage=True)))
        for name in ("kept", "deleted", "changed"):
            client.must("POST", WIDGETS, widget(name, size="large"))
        found = client.must("GET", f"{CRDS}/{NAME}")
        found["spec"]["versions"] = [version("v1", storage=True, schema=STRICT)]
        client.must("PUT", f"{CRDS}/{NAME}", found)
        before = listed(client)
        with Informer(own_server, WIDGETS) as informer:
            assert "widgets.example.com: 3" in run("backup", archive, *flags)
            client.must("DELETE", f"{WIDGETS}/deleted")
            client.merge(f"{WIDGETS}/changed", {"metadata": {"labels": {"a": "b"}}})
            last = client.must("POST", WIDGETS, widget("late", size="m"))["metadata"]["resourceVersion"]
            informer.wait(lambda: "late" in informer.items and "deleted" not in informer.items)
            refusal = run("restore", archive, *flags, "--replace", code=1)
            assert "in use by another process" in refusal or "servers use" in refusal
            own_server.stop()
            client.close()
            assert "restored" in run("restore", archive, *flags, "--replace")
            own_server.start()
            client.until(WIDGETS, "deleted", bool)
            after = listed(client)
            informer.wait_equal(after)
            new = client.must("POST", WIDGETS, widget("new", size="m"))
            informer.wait(lambda: "new" in informer.items)

    revisions = [int(item["metadata"].pop("resourceVersion")) for item in after]
    for item in before:
        item["metadata"].pop("resourceVersion")
    assert after == before
    assert min(revisions) > int(last)
    assert int(new["metadata"]["resourceVersion"]) > max(revisions)
    assert informer.lists == 2


def test_objects_of_a_server(tmp_path: Path) -> None:
    """Back up one group through the API; restore it into another running server and into a store, with uids, and with invalid objects."""
    archive = str(tmp_path / "b.tar.gz")
    with ApiextServer(tmp_path / "one") as server, Client(server) as client:
        client.define(crd("gadgets", kind="Gadget", group="other.io"))
        client.define(crd("widgets", version("v1", storage=True)))
        for name in ("a", "b"):
            client.must("POST", WIDGETS, widget(name, size="large"))
        found = client.must("GET", f"{CRDS}/{NAME}")
        found["spec"]["versions"] = [version("v1", storage=True, schema=STRICT)]
        client.must("PUT", f"{CRDS}/{NAME}", found)
        before = listed(client)
        access = [f"--kubeconfig={server.kubeconfig}"]
        assert "no definition of missing.io" in run("backup", archive, "--group=missing.io", *access, code=1)
        run("backup", archive, "--group=example.com", *access)
    described = run("restore", archive, "--verify")
    assert "widgets.example.com: 2" in described
    assert "gadgets" not in described

    with ApiextServer(tmp_path / "other") as other, Client(other) as client:
        target = [f"--kubeconfig={other.kubeconfig}"]
        assert "created 2" in run("restore", archive, *target)
        restored = listed(client)
        client.merge(f"{WIDGETS}/a", {"metadata": {"labels": {"a": "b"}}})
        client.must("DELETE", f"{WIDGETS}/b")
        assert "created 1, replaced 0, there already 1" in run("restore", archive, *target)
        assert "created 0, replaced 1, there already 1" in run("restore", archive, *target, "--replace")
        again = listed(client)
    run("restore", archive, f"--data-dir={tmp_path / 'third' / 'data'}")
    with ApiextServer(tmp_path / "third") as third, Client(third) as client:
        client.until_established(NAME)
        stored = listed(client)

    for items in (before, restored, again, stored):
        for item in items:
            item["metadata"].pop("resourceVersion")
    assert restored == again == stored == before
