"""Mirrors of a real host's definitions, also while the host is away."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from apiext.base.meta.host_annotations import HAND_OVER, HOST_UID, PHASE, SERVE_LABEL, SERVING
from hack.lib.servers.aggregated_cluster import CRDS, SELECTOR, AggregatedCluster
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Caller
from hack.lib.servers.etcd import gateway
from hack.lib.servers.process import ProcessError
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.doctor import doctor, names

pytestmark = pytest.mark.slow
MERGE: Final = [("Content-Type", "application/merge-patch+json")]
Json = dict[str, Any]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AggregatedCluster]:
    """Provide a host, and two servers that follow its definitions."""
    folder = tmp_path_factory.mktemp("host-definitions")
    with AggregatedCluster(folder, selector=SELECTOR, controller_manager=False, operator=False, replicas=2) as started:
        yield started


def _replicas(cluster: AggregatedCluster) -> list[Caller]:
    return [cluster.own(server) for server in cluster.servers]


def _name(group: str) -> str:
    return f"{CRDS}/widgets.{group}"


def _define(cluster: AggregatedCluster, group: str) -> Json:
    """Create a selected definition on the host, and wait for its mirror."""
    crd = widget_crd(group=group)
    crd["metadata"]["labels"] = {SERVE_LABEL: "true"}
    found: Json = cluster.host.must("POST", CRDS, crd)
    for replica in _replicas(cluster):
        until(lambda replica=replica: _is_established(replica, group))  # type: ignore[misc]
    return found


def _is_established(caller: Caller, group: str) -> bool:
    code, found = caller.ask("GET", _name(group))
    conditions = found["status"]["conditions"] or [] if code == 200 else []
    return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)


def _short_names(caller: Caller, group: str) -> list[str] | None:
    code, found = caller.ask("GET", _name(group))
    return found["spec"]["names"].get("shortNames", []) if code == 200 else None


def _rename(caller: Caller, group: str, *names: str) -> None:
    caller.must("PATCH", _name(group), {"spec": {"names": {"shortNames": list(names)}}}, MERGE)


def _serve(cluster: AggregatedCluster, group: str) -> str:
    """Set the phase Serving; return the path of the instances."""
    own = cluster.own()
    own.must("PATCH", _name(group), {"metadata": {"annotations": {PHASE: SERVING}}}, MERGE)
    path = f"/apis/{group}/v1/namespaces/default/widgets"
    until(lambda: own.ask("POST", path, _widget(group, "first"))[0] == 201)
    return path


def _widget(group: str, name: str) -> Json:
    return widget(name, group=group, size="s")


def _verbose(caller: Caller) -> str:
    return str(caller.ask("GET", "/readyz?verbose")[1])


def test_mirrors_a_definition(cluster: AggregatedCluster) -> None:
    """Mirror a selected definition with its labels and changes, and delete it with its instances; ignore others."""
    group, other = "follow.hosted.example.com", "plain.hosted.example.com"
    created = _define(cluster, group)
    cluster.host.must("POST", CRDS, widget_crd(group=other))
    path, replicas = _serve(cluster, group), _replicas(cluster)

    _rename(cluster.host, group, "wd")
    for replica in replicas:
        until(lambda replica=replica: _short_names(replica, group) == ["wd"])  # type: ignore[misc]
        mirror = replica.must("GET", _name(group))
        assert mirror["metadata"]["annotations"].items() >= {HOST_UID: created["metadata"]["uid"], PHASE: SERVING}.items()
        assert mirror["metadata"]["labels"] == {SERVE_LABEL: "true"}
        assert replica.ask("GET", _name(other))[0] == 404
    # the two servers do not undo what the other one does
    assert replicas[0].must("GET", _name(group))["metadata"]["generation"] == 2

    _rename(cluster.own(), group, "mine")
    until(lambda: _short_names(cluster.own(), group) == ["wd"])

    cluster.host.must("DELETE", _name(group))
    for replica in replicas:
        until(lambda replica=replica: replica.ask("GET", _name(group))[0] == replica.ask("GET", path)[0] == 404)  # type: ignore[misc]
    assert not [key for key in cluster.keys(cluster.etcd.url, group) if "/customresourcedefinitions/" not in key]


def test_keeps_a_mirror_until_it_is_deleted(cluster: AggregatedCluster) -> None:
    """Keep and follow the mirror of a definition that is not selected any more, until a client deletes it."""
    group = "back.hosted.example.com"
    _define(cluster, group)
    marks: Json = {"annotations": {HAND_OVER: "true"}, "labels": {SERVE_LABEL: None}}
    cluster.host.must("PATCH", _name(group), {"metadata": marks}, MERGE)
    _rename(cluster.host, group, "wd")
    own = cluster.own()
    until(lambda: _short_names(own, group) == ["wd"])

    own.must("DELETE", _name(group))
    until(lambda: own.ask("GET", _name(group))[0] == 404)
    cluster.host.must("PATCH", _name(group), {"metadata": {"labels": {SERVE_LABEL: "true"}}}, MERGE)
    _rename(cluster.host, group, "again")
    cluster.host.must("PATCH", _name(group), {"metadata": {"annotations": {HAND_OVER: None}}}, MERGE)
    until(lambda: _short_names(own, group) == ["again"])


def test_reports_a_name_conflict(cluster: AggregatedCluster) -> None:
    """Keep a definition of apiext's own API, and report the conflict in a line, with details to administrators."""
    group, own = "own.hosted.example.com", cluster.own()
    own.must("POST", CRDS, widget_crd(group=group))
    crd = widget_crd(group=group, names={"plural": "widgets", "kind": "Widget", "shortNames": ["host"]})
    crd["metadata"]["labels"] = {SERVE_LABEL: "true"}
    cluster.host.must("POST", CRDS, crd)
    until(lambda: "[+]host ok: 1 of its definitions not mirrored (more: /readyz/host)\n" in _verbose(own))
    assert _short_names(own, group) == []
    code, text = own.ask("GET", "/readyz/host")
    refused = "a definition of this name exists in apiext that does not mirror the host's"
    assert (code, f"widgets.{group}: {refused}" in text) == (200, True)
    assert names(doctor(cluster, group, f"--ca-file={cluster.authority.cert}"), "copies", refused)

    own.must("DELETE", _name(group))
    until(lambda: _short_names(own, group) == ["host"])
    until(lambda: "[+]host ok\n" in _verbose(own))


def test_serves_while_the_host_is_away(cluster: AggregatedCluster) -> None:
    """Serve while the host is away, on new servers too, and catch up when it is back.

    A new server refuses writes meanwhile: it does not know who must admit them.
    """
    group, replicas = "away.hosted.example.com", _replicas(cluster)
    _define(cluster, group)
    path = _serve(cluster, group)
    cluster.plane.apiserver.kill()
    cluster.servers[1].restart()

    for replica in replicas:
        until(lambda replica=replica: "[+]host ok: not reached since " in _verbose(replica))  # type: ignore[misc]
        assert replica.ask("GET", "/readyz") == (200, "ok")
        assert [item["metadata"]["name"] for item in replica.must("GET", path)["items"]] == ["first"]
    replicas[0].must("PATCH", f"{path}/first", {"spec": {"size": "l"}}, MERGE)
    code, refused = replicas[1].ask("PATCH", f"{path}/first", {"spec": {"size": "xl"}}, MERGE)
    assert (code, refused["message"]) == (403, f'widgets.{group} "first" is forbidden: not yet ready to handle request')
    assert "cannot be read" in cluster.servers[1].log
    stranger = Caller(cluster.apiext.url, cluster.authority.cert, token="unknown")
    assert stranger.ask("GET", path)[0] == 401

    cluster.plane.apiserver.start()
    until(lambda: cluster.host.ask("GET", "/readyz")[0] == 200)
    _rename(cluster.host, group, "back")
    for replica in replicas:
        until(lambda replica=replica: _short_names(replica, group) == ["back"])  # type: ignore[misc]
        until(lambda replica=replica: "[+]host ok\n" in _verbose(replica))  # type: ignore[misc]
    until(lambda: replicas[1].ask("PATCH", f"{path}/first", {"spec": {"size": "xl"}}, MERGE)[0] == 200)


def _another_server(cluster: AggregatedCluster, name: str, *flags: str) -> ApiextServer:
    """Return a server with a store of its own."""
    kubeconfig = cluster.plane.write_kubeconfig("apiext", cluster.plane.authority.issue("apiext"))
    serving = cluster.authority.issue(name, hosts=("127.0.0.1",))
    own = [f"--kubeconfig={kubeconfig}", f"--tls-cert-file={serving.cert}", f"--tls-private-key-file={serving.key}"]
    own += [f"--crd-selector={SELECTOR}", f"--client-ca-file={cluster.plane.ca}", *flags]
    server = ApiextServer(cluster.folder / name, etcd_url=cluster.etcd.url, etcd_prefix=f"/{name}", extra_args=own)
    server.ca = cluster.authority.cert
    return server


def test_waits_for_the_host_at_the_first_start(cluster: AggregatedCluster) -> None:
    """Start no new server, or where that is tolerated not ready, before the host responds."""
    group = "new.hosted.example.com"
    _define(cluster, group)
    server = _another_server(cluster, "new", "--authentication-tolerate-lookup-failure")
    own = cluster.own(server)
    cluster.plane.apiserver.kill()
    with pytest.raises(ProcessError, match="extension-apiserver-authentication cannot be read"):
        _another_server(cluster, "newer").start()
    try:
        server.process.start()
        until(lambda: own.ask("GET", "/healthz") == (200, "ok"))
        until(lambda: own.ask("GET", "/readyz/host")[1].startswith("internal server error: "))
        until(lambda: "[-]host failed: reason withheld\n" in _verbose(own))

        cluster.plane.apiserver.start()
        until(server.ready)
        until(lambda: _is_established(own, group))
    finally:
        server.stop()


def test_rejects_the_store_of_another_host(cluster: AggregatedCluster) -> None:
    """Leave the store of another cluster unchanged: the server stays not ready, and gives the reason."""
    _define(cluster, "other.hosted.example.com")
    gateway(cluster.etcd.url, "kv/put", key=b"/stranger/apiext.dev/host", value=b'{"uid":"another"}')
    server = _another_server(cluster, "stranger")
    own = cluster.own(server)
    server.process.start()
    try:
        until(lambda: "the host is not the cluster that the store belongs to" in own.ask("GET", "/readyz/host")[1])
        assert own.ask("GET", "/readyz")[0] == 500
        assert own.must("GET", CRDS)["items"] == []
    finally:
        server.stop()
