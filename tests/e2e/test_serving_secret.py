"""The certificate that the operator makes for the servers, as it is exchanged while clients go on."""

import base64
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from hack.lib.servers.aggregated_cluster import API_SERVICES, CRDS
from hack.lib.waiting import until
from tests.e2e.installed import SECRET
from tests.e2e.pods import Pods
from tests.support.servers.in_process import definition

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


def _shown(pods: Pods) -> bytes:
    """The certificate that the server shows to one who believes what the host does."""
    bundle = base64.b64decode(pods.installed.host.must("GET", API_SERVICE)["spec"]["caBundle"]).decode()
    context = ssl.create_default_context(cadata=bundle)
    with (
        socket.create_connection(("127.0.0.1", pods.port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="apiext.apiext-system.svc") as connection,
    ):
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    return shown


@contextmanager
def _going_on(work: Callable[[], object]) -> Iterator[list[object]]:
    """Do something again and again; what comes of it, or goes wrong."""
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
    """A group of the server's own, which the host proxies."""
    name = {"name": f"widgets.{GROUP}"}
    pods.caller(pods.installed.plane.admin).must("POST", CRDS, {**definition(group=GROUP), "metadata": name})
    until(lambda: pods.installed.host.ask("GET", API_SERVICE)[0] == 200 and _available(pods).get("status") == "True")


def test_another_certificate_of_another_authority(pods: Pods) -> None:
    """While one authority follows another no request through the host fails, and whoever believes what the host does is content."""
    host, folder = pods.installed.host, pods.mounted.folder
    before, since, first = _secret(pods), _available(pods)["lastTransitionTime"], _shown(pods)

    with _going_on(lambda: host.ask("GET", WIDGETS)[0]) as answers, _going_on(lambda: _shown(pods)) as shown:
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


def test_a_secret_that_is_deleted(pods: Pods) -> None:
    """It is there again before anybody can miss it, and servers show what it has."""
    host, before = pods.installed.host, _secret(pods)

    host.must("DELETE", SECRET)
    until(lambda: host.ask("GET", SECRET)[0] == 200 and _secret(pods)["tls.crt"] != before["tls.crt"])

    until(lambda: _shown(pods) == ssl.PEM_cert_to_DER_cert(base64.b64decode(_secret(pods)["tls.crt"]).decode()))
