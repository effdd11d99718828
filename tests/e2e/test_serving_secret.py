"""The rotation of the operator's serving certificate while clients send requests."""

import base64
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from apiext.base.tls_trust import trusting_context
from hack.lib.servers.aggregated_cluster import API_SERVICES, CRDS
from hack.lib.waiting import until
from tests.e2e.installed import SECRET
from tests.e2e.pods import Pods
from tests.support.builders.crds import widget_crd

pytestmark = pytest.mark.slow
GROUP: Final = "rotated.example.com"
API_SERVICE: Final = f"{API_SERVICES}/v1.{GROUP}"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"


def _secret(pods: Pods) -> dict[str, str]:
    data: dict[str, str] = pods.installed.host.must("GET", SECRET)["data"]
    return data


def _available(pods: Pods) -> dict[str, Any]:
    found = pods.installed.host.must("GET", API_SERVICE)
    conditions = (found.get("status") or {}).get("conditions") or [{}]
    return next((one for one in conditions if one.get("type") == "Available"), {})


def _presented(pods: Pods) -> bytes:
    """Return the certificate that the server presents to a client with the host's CA bundle."""
    bundle = base64.b64decode(pods.installed.host.must("GET", API_SERVICE)["spec"]["caBundle"]).decode()
    context = trusting_context(cadata=bundle)
    with (
        socket.create_connection(("127.0.0.1", pods.port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="apiext.apiext-system.svc") as connection,
    ):
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    return shown


@contextmanager
def _repeated(work: Callable[[], object]) -> Iterator[list[object]]:
    """Repeat a call during the block, and return its results and errors."""
    stop = threading.Event()
    results: list[object] = []

    def run() -> None:
        while not stop.wait(0.02):
            try:
                results.append(work())
            except (OSError, AssertionError) as error:
                results.append(repr(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield results
    stop.set()
    thread.join(30)


@pytest.fixture(autouse=True, scope="module")
def _served(pods: Pods) -> None:
    """Define a group of the server's own, which the host proxies."""
    name = {"name": f"widgets.{GROUP}"}
    pods.caller(pods.installed.plane.admin).must("POST", CRDS, {**widget_crd(group=GROUP), "metadata": name})
    until(lambda: pods.installed.host.ask("GET", API_SERVICE)[0] == 200 and _available(pods).get("status") == "True")


def test_rotates_without_a_failed_request(pods: Pods) -> None:
    """Fail no request through the host, or with the host's CA bundle, while authority and certificate change."""
    host, folder = pods.installed.host, pods.mounted.folder
    before, since, first = _secret(pods), _available(pods)["lastTransitionTime"], _presented(pods)

    with _repeated(lambda: host.ask("GET", WIDGETS)[0]) as answers, _repeated(lambda: _presented(pods)) as shown:
        pods.operator.stop()
        pods.operator = pods.another_operator("operator-of-localhost", f"https://localhost:{pods.port}")
        pods.operator.start()
        until(lambda: _secret(pods)["tls.crt"] != before["tls.crt"])
        until(lambda: (folder / "tls.crt").read_bytes() == base64.b64decode(_secret(pods)["tls.crt"]))
        until(lambda: shown[-1] not in {first, shown[0]})
        enough = len(answers) + 10
        until(lambda: len(answers) > enough)

    after = _secret(pods)
    assert set(answers) == {200}
    assert {type(one) for one in shown} == {bytes}
    assert len(set(shown)) == 2
    assert after.keys() == {"tls.crt", "tls.key", "ca.crt"}
    assert base64.b64decode(after["ca.crt"]).endswith(base64.b64decode(before["ca.crt"]))
    assert (_available(pods)["status"], _available(pods)["lastTransitionTime"]) == ("True", since)


def test_recreates_a_deleted_secret(pods: Pods) -> None:
    """Create a deleted Secret again before its absence matters, and present its certificate."""
    host, before = pods.installed.host, _secret(pods)

    host.must("DELETE", SECRET)
    until(lambda: host.ask("GET", SECRET)[0] == 200 and _secret(pods)["tls.crt"] != before["tls.crt"])

    until(lambda: _presented(pods) == ssl.PEM_cert_to_DER_cert(base64.b64decode(_secret(pods)["tls.crt"]).decode()))
