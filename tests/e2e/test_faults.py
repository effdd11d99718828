"""The failed check of `apiext doctor` for each fault between the host and apiext."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hack.lib.servers.aggregated_cluster import API_SERVICES, NAMESPACE, SERVICE
from tests.e2e.cluster import GROUP, Cluster, until
from tests.support.clients.doctor import Json, doctor, names

pytestmark = pytest.mark.slow
NAME = f"v1.{GROUP}"
DELEGATOR = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/apiext-delegator"
SERVICES = f"/api/v1/namespaces/{NAMESPACE}/services"
MERGE = [("Content-Type", "application/merge-patch+json")]


def _doctor(cluster: Cluster, *arguments: str) -> Json:
    return doctor(cluster, GROUP, *arguments)


def _names(cluster: Cluster, hop: str, what: str = "") -> bool:
    return names(_doctor(cluster), hop, what)


@contextmanager
def _edited(cluster: Cluster, **spec: Any) -> Iterator[None]:
    """Edit an APIService for the time of a test."""
    path = f"{API_SERVICES}/{NAME}"
    before = cluster.host.must("GET", path)["spec"]
    cluster.host.must("PATCH", path, {"spec": spec}, MERGE)
    try:
        yield
    finally:
        cluster.host.must("PATCH", path, {"spec": {"insecureSkipTLSVerify": None, **before}}, MERGE)
        until(lambda: cluster.available(NAME))


@pytest.fixture(autouse=True)
def _sound(cluster: Cluster) -> Iterator[None]:
    """Wait after each test until all checks pass."""
    yield
    until(lambda: bool(_doctor(cluster)["ok"]))


def test_names_a_wrong_port(cluster: Cluster) -> None:
    """Report an APIService with another port than the Service's."""
    with _edited(cluster, service={"port": 1}):
        assert _names(cluster, "APIServices", f"points to {NAMESPACE}/{SERVICE}:1")


def test_names_a_wrong_service(cluster: Cluster) -> None:
    """Report an APIService with another Service."""
    with _edited(cluster, service={"name": "other"}):
        assert _names(cluster, "APIServices", f"points to {NAMESPACE}/other")


def test_names_edited_api_services(cluster: Cluster) -> None:
    """Report an APIService that does not verify the certificate, or does not proxy."""
    with _edited(cluster, insecureSkipTLSVerify=True, caBundle=None):
        assert _names(cluster, "APIServices", "insecureSkipTLSVerify")
    with _edited(cluster, service=None, caBundle=None):
        # where apiext is is known from its other group
        assert _names(cluster, "registration", "is local")


def test_names_a_wrong_ca_bundle(cluster: Cluster) -> None:
    """Report a wrong caBundle, with --ca-file before a connection is made."""
    other = base64.b64encode(cluster.plane.ca.read_bytes()).decode()
    with _edited(cluster, caBundle=other):
        assert _names(cluster, "certificate", "not of the authorities that the host trusts")
        assert _doctor(cluster, f"--ca-file={cluster.authority.cert}")["broken"] == "APIServices"


def test_names_a_missing_service(cluster: Cluster) -> None:
    """Report a missing Service."""
    before = cluster.host.must("GET", f"{SERVICES}/{SERVICE}")
    cluster.host.must("DELETE", f"{SERVICES}/{SERVICE}")
    try:
        assert _names(cluster, "Service", "does not exist")
    finally:
        cluster.host.must("POST", SERVICES, {"metadata": {"name": SERVICE}, "spec": before["spec"]})
        until(lambda: cluster.available(NAME))


def test_names_a_certificate_for_another_name(cluster: Cluster) -> None:
    """Report a certificate without the Service's name."""
    files = [Path(flag.partition("=")[2]) for flag in cluster.apiext.process.command if flag.startswith(("--tls-cert", "--tls-private"))]
    before = [path.read_bytes() for path in files]
    other = cluster.authority.issue("misnamed", hosts=("other.svc", "127.0.0.1"))
    try:
        for path, source in zip(files, (other.cert, other.key), strict=True):
            path.write_bytes(source.read_bytes())
        until(lambda: _names(cluster, "certificate", f"not for {SERVICE}.{NAMESPACE}.svc, but for other.svc"))
    finally:
        for path, content in zip(files, before, strict=True):
            path.write_bytes(content)


def test_names_a_stopped_apiext(cluster: Cluster) -> None:
    """Report a port without a listener."""
    cluster.apiext.stop()
    try:
        assert _names(cluster, "connection", "nothing listens on 127.0.0.1")
    finally:
        cluster.apiext.start()


def test_names_a_stopped_etcd(cluster: Cluster) -> None:
    """Report a running apiext without its etcd."""
    cluster.etcd.stop()
    try:
        until(lambda: _names(cluster, "store", "etcd"))
    finally:
        cluster.etcd.start()


def test_names_a_missing_delegation(cluster: Cluster) -> None:
    """Report the missing ClusterRole system:auth-delegator, which members of system:masters do not notice."""
    before = cluster.host.must("GET", DELEGATOR)
    cluster.host.must("DELETE", DELEGATOR)
    try:
        until(lambda: _names(cluster, "delegation", 'User "apiext"'))
        assert cluster.available(NAME)
    finally:
        binding = {key: before[key] for key in ("roleRef", "subjects")}
        cluster.host.must("POST", DELEGATOR.rpartition("/")[0], {"metadata": {"name": "apiext-delegator"}, **binding})


def test_names_a_front_proxy_that_is_a_user(cluster: Cluster) -> None:
    """Report a front proxy whose name is not allowed and whose authority is that of users, too: discovery is open to each of them."""
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    before = cluster.host.must("GET", path)["data"]
    both = before["client-ca-file"] + before["requestheader-client-ca-file"]
    try:
        cluster.host.must("PATCH", path, {"data": {"requestheader-allowed-names": '["somebody-else"]', "client-ca-file": both}}, MERGE)
        until(lambda: _names(cluster, "front proxy", "for requests of front-proxy-client: it answers 403"))
    finally:
        cluster.host.must("PATCH", path, {"data": before}, MERGE)


def test_names_an_unknown_front_proxy(cluster: Cluster) -> None:
    """Report a front proxy whose name the ConfigMap does not allow."""
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
    before = cluster.host.must("GET", path)["data"]
    try:
        cluster.host.must("PATCH", path, {"data": {"requestheader-allowed-names": '["somebody-else"]'}}, MERGE)
        until(lambda: _names(cluster, "front proxy", "401"))
    finally:
        cluster.host.must("PATCH", path, {"data": before}, MERGE)
