"""Tests of `apiext versions` and `apiext get-stored` beside a running server, and without it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.crds import crd, version, widget
from tests.support.clients.client import CRDS, MERGE_PATCH, Client

NAME: Final = "widgets.example.com"
WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
SCHEMA: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "string", "maxLength": 3}}}},
}


def run(*arguments: str, code: int = 0) -> str:
    """Run the command and return what it prints."""
    done = subprocess.run([sys.executable, "-m", "apiext", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout if not code else done.stderr


@pytest.fixture
def filled(own_server: ApiextServer) -> ApiextServer:
    """Return a server with two objects stored in v1, one of them invalid today, and one in v2."""
    with Client(own_server) as client:
        client.define(crd("widgets", version("v1", storage=True), version("v2")))
        for name, size in (("a", "m"), ("b", "large")):
            client.must("POST", WIDGETS, widget(name, size=size))
        found = client.must("GET", f"{CRDS}/{NAME}")
        found["spec"]["versions"] = [version("v1", schema=SCHEMA, deprecated=True), version("v2", storage=True, schema=SCHEMA)]
        client.must("PUT", f"{CRDS}/{NAME}", found)
        client.must("POST", WIDGETS, widget("c", size="s"))
    return own_server


def sources(server: ApiextServer) -> dict[str, list[str]]:
    """Return the flags that name the server, and its store."""
    store = [f"--data-dir={server.data_dir}"]
    if server.etcd_url:
        store = [f"--etcd-servers={server.etcd_url}", f"--etcd-prefix={server.etcd_prefix}"]
    return {"server": [f"--kubeconfig={server.kubeconfig}"], "store": store}


def assert_reports(flags: list[str]) -> Any:
    """Assert what the commands report about the widgets; return the report."""
    (report,) = json.loads(run("versions", NAME, "-o", "json", *flags))
    rows = {row["name"]: (row["objects"], row["invalid"], row["stored"], row["storage"], row["deprecated"]) for row in report["versions"]}

    assert rows == {"v1": (2, 1, True, False, True), "v2": (1, 0, True, True, False)}
    assert [problem["key"] for problem in report["problems"]] == ["default/b"]
    stored = json.loads(run("get-stored", NAME, "default/a", *flags))
    assert (stored["apiVersion"], stored["spec"]) == ("example.com/v1", {"size": "m"})
    assert "resourceVersion" not in stored["metadata"]
    assert f'"{NAME}' not in run("get-stored", NAME, "default/none", *flags, code=1)
    return report


def test_reports_what_is_stored(filled: ApiextServer) -> None:
    """Report the same from the server, from its store beside it, and from the store without it; the server goes on writing."""
    flags = sources(filled)
    online = assert_reports(flags["server"])
    beside = assert_reports(flags["store"])
    with Client(filled) as client:
        client.must("PUT", f"{WIDGETS}/a", client.must("GET", f"{WIDGETS}/a") | {"spec": {"size": "l"}})
        (report,) = json.loads(run("versions", "-o", "json", *flags["store"]))
        assert {row["name"]: row["objects"] for row in report["versions"]} == {"v1": 1, "v2": 2}
        client.must("DELETE", f"{WIDGETS}/a")
    table = run("versions", NAME, *flags["server"])
    filled.stop()
    (stopped,) = json.loads(run("versions", NAME, "-o", "json", *flags["store"]))

    assert {row["name"]: row["objects"] for row in stopped["versions"]} == {"v1": 1, "v2": 1}
    assert [online[key] for key in ("name", "objects", "versions", "problems")] == [
        beside[key] for key in ("name", "objects", "versions", "problems")
    ]
    assert online["servers"] == [{"address": filled.url, "version": "v2"}]
    assert f"written in v2 by {filled.url}" in table
    lines = [line.split() for line in table.splitlines()]
    assert lines[0] == [NAME, "2", "objects"]
    assert lines[2:4] == [["v1", "yes", "yes", "yes", "1", "1", "0"], ["v2", "yes", "yes", "yes", "1", "0", "0"]]
    filled.start()
    with Client(filled) as client:
        assert len(client.must("GET", WIDGETS)["items"]) == 2


def test_names_what_is_wrong(filled: ApiextServer) -> None:
    """Name the flag or the definition that is wrong."""
    flags = sources(filled)

    assert '"none.example.com" not found' in run("versions", "none.example.com", *flags["server"], code=1)
    assert '"none.example.com" not found' in run("versions", "none.example.com", *flags["store"], code=1)
    assert "cannot be opened" in run("versions", "--data-dir=/nowhere", code=1)
    assert "not both" in run("versions", "--data-dir=/nowhere", "--etcd-servers=http://127.0.0.1:1", code=2)
    assert "does not begin with https://" in run("versions", f"--kubeconfig={filled.kubeconfig}", "--server=x", code=2)


def test_guards_stored_versions(tmp_path: Path) -> None:
    """Refuse to remove a version in which objects are stored, with `--guard-stored-versions`, and show their number in the metrics."""
    with ApiextServer(tmp_path, extra_args=["--guard-stored-versions"]) as server, Client(server) as client:
        client.define(crd("widgets", version("v1", storage=True), version("v2")))
        client.must("POST", WIDGETS, widget("a"))
        client.must("PATCH", f"{CRDS}/{NAME}", {"spec": {"versions": [version("v1"), version("v2", storage=True)]}}, MERGE_PATCH)
        refused = client.ask("PATCH", f"{CRDS}/{NAME}/status", {"status": {"storedVersions": ["v2"]}}, MERGE_PATCH)
        metrics = client.ask("GET", "/metrics").body.decode()
        client.must("PUT", f"{WIDGETS}/a", client.must("GET", f"{WIDGETS}/a") | {"spec": {"size": "m"}})
        accepted = client.ask("PATCH", f"{CRDS}/{NAME}/status", {"status": {"storedVersions": ["v2"]}}, MERGE_PATCH)

    assert (refused.status, accepted.status) == (422, 200)
    assert "v1 must not be removed: 1 object is stored in v1" in refused.json["message"]
    counts = {line for line in metrics.splitlines() if line.startswith("apiext_stored_objects{")}
    assert counts == {
        f'apiext_stored_objects{{group="example.com",resource="widgets",version="{name}"}} {number}'
        for name, number in (("v1", "1.0"), ("v2", "0.0"), ("unknown", "0.0"))
    }
