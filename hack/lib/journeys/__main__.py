"""Prints how many calls, modules and changes of room a request takes in a warm server on SQLite, and a plan of two files."""

import argparse
import http.client
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from hack.lib.bench import conversion, workload
from hack.lib.journeys.counter import SIGNAL, Counter
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.waiting import until

_ROUNDS: Final = 7
"""Each request is counted this often; the smallest count has no timer or other task in it."""
_WARM: Final = 3
_OBJECTS: Final = 20
_PLAIN: Final = "plains"
_GUARDED: Final = "guardeds"
_CONVERTED: Final = "converteds"
_MERGE: Final = "application/merge-patch+json"
_APPLY: Final = "application/apply-patch+yaml"

Count = dict[str, int]
Send = Callable[[int], None]
"""Sends one request; the number makes its content new."""


class _Request(NamedTuple):
    name: str
    send: Send
    prepare: Send | None = None
    """Sends what comes before the request and is not counted."""


class _Client:
    """The administrator, on one connection."""

    def __init__(self, server: ApiextServer) -> None:
        self._connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=server.ssl_context())

    def send(self, method: str, path: str, body: object = None, media_type: str = "application/json") -> int:
        """Send a request and read its answer; return its status code."""
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, {"Content-Type": media_type})
        response = self._connection.getresponse()
        response.read()
        return response.status

    def must(self, method: str, path: str, body: object = None, media_type: str = "application/json") -> None:
        """Send a request that succeeds."""
        code = self.send(method, path, body, media_type)
        assert code < http.HTTPStatus.BAD_REQUEST, (method, path, code)


def _requests(client: _Client) -> Iterator[_Request]:
    """Yield the requests."""
    plain, guarded, stored = map(workload.collection, (_PLAIN, _GUARDED, _CONVERTED))
    other = f"{stored.replace('/v1/', '/v2/')}?resourceVersion=0"
    one = _name(0)

    def merge(collection: str, number: int) -> None:
        client.must("PATCH", f"{collection}/{one}", {"spec": {"sent": f"{number}"}}, _MERGE)

    def apply(number: int) -> None:
        applied = _object("Plain", 0) | {"metadata": {"name": one, "labels": {"number": f"{number}"}}}
        client.must("PATCH", f"{plain}/{one}?fieldManager=a&force=true", applied, _APPLY)

    yield _Request("GET", lambda _: client.must("GET", f"{plain}/{one}"))
    yield _Request("LIST", lambda _: client.must("GET", plain))
    yield _Request("CREATE", lambda number: client.must("POST", plain, _object("Plain", number)))
    yield _Request("merge patch", partial(merge, plain))
    yield _Request("apply", apply)
    yield _Request("CREATE with a validating webhook", lambda number: client.must("POST", guarded, _object("Guarded", number)))
    yield _Request("LIST through a conversion webhook, of one new object", lambda _: client.must("GET", other), partial(merge, stored))


def _name(number: int) -> str:
    return f"object-{number}"


def _object(kind: str, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(workload.filled(kind, {"name": _name(number)}, {"sent": "now"}))
    return found


def _fill(client: _Client, admission: WebhookServer, webhook: WebhookServer) -> None:
    """Create the definitions, their objects and the webhook configuration."""
    converted = conversion.crd(_CONVERTED, "Converted", renamed=False)
    config = {"clientConfig": webhook.client_config("/well"), "conversionReviewVersions": ["v1"]}
    converted["spec"]["conversion"] = {"strategy": "Webhook", "webhook": config}
    for crd in (workload.crd(_PLAIN, "Plain"), workload.crd(_GUARDED, "Guarded"), converted):
        client.must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    for plural, kind in ((_PLAIN, "Plain"), (_GUARDED, "Guarded"), (_CONVERTED, "Converted")):
        path = workload.collection(plural)
        until(partial(_is_served, client, path), path)
        for number in range(_OBJECTS):
            client.must("POST", workload.collection(plural), _object(kind, number))
    client.must("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", _guard(admission))


def _is_served(client: _Client, path: str) -> bool:
    return client.send("GET", path) == http.HTTPStatus.OK


def _guard(admission: WebhookServer) -> dict[str, Any]:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [_GUARDED]}
    hook = {"name": "guard.example.com", "clientConfig": admission.client_config("/well"), "rules": [rule], "sideEffects": "None"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "guard"},
        "webhooks": [hook | {"admissionReviewVersions": ["v1"]}],
    }


def _counted(server: ApiextServer, report: Path, request: _Request, numbers: Iterator[int]) -> Count:
    """Return the smallest count of several equal requests."""
    found: list[Count] = []
    for number in range(_WARM + _ROUNDS):
        if request.prepare is not None:
            request.prepare(next(numbers))
        os.kill(server.pid, SIGNAL)
        request.send(next(numbers))
        os.kill(server.pid, SIGNAL)
        until(report.exists, str(report))
        if number >= _WARM:
            found.append(json.loads(report.read_text()))
        report.unlink()
    return min(found, key=lambda count: count["calls"])


@contextmanager
def _running(folder: Path, report: Path) -> Iterator[ApiextServer]:
    server = ApiextServer(folder)
    server.process.command[1:3] = ["-m", "hack.lib.journeys.counter", str(report)]
    with server:
        yield server


def journeys() -> dict[str, Count]:
    """Return the counts of each request, and of a plan."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apiext-journeys-")))
        report = folder / "count.json"
        webhook = stack.enter_context(WebhookServer(folder, "hack.lib.soak.webhook"))
        other = folder / "admission"
        other.mkdir()
        admission = stack.enter_context(WebhookServer(other, "hack.lib.soak.admission_webhook"))
        server = stack.enter_context(_running(folder, report))
        client = _Client(server)
        _fill(client, admission, webhook)
        numbers = iter(range(_OBJECTS, 1_000_000))
        found = {request.name: _counted(server, report, request, numbers) for request in _requests(client)}
    return found | {"apiext plan of two files": _plan()}


def _plan() -> Count:
    """Return the counts of a plan, with imports left out: the second one in this process."""
    crd = workload.crd(_PLAIN, "Plain")
    with tempfile.TemporaryDirectory(prefix="apiext-journeys-") as folder:
        files = [Path(folder, name) for name in ("old.json", "new.json")]
        files[0].write_text(json.dumps(crd))
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["payload"]["maxLength"] = 100
        files[1].write_text(json.dumps(crd))
        counter = Counter()
        _plan_once(files)
        sys.setprofile(counter)
        _plan_once(files)
        sys.setprofile(None)
    return counter.counts()


def _plan_once(files: list[Path]) -> None:
    arguments = sys.argv
    sys.argv = ["apiext", "plan", str(files[1]), "--from", str(files[0])]
    try:
        with suppress(SystemExit), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            runpy.run_module("apiext", run_name="__main__")
    finally:
        sys.argv = arguments


def _main() -> None:
    parser = argparse.ArgumentParser(prog="hack/journeys", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args()
    found = journeys()
    if options.json:
        print(json.dumps(found, indent=1))
        return
    print("| request | calls | functions | modules | changes of room |\n| --- | --- | --- | --- | --- |")
    for name, count in found.items():
        print(f"| {name} | {count['calls']} | {count['functions']} | {count['modules']} | {count['changes']} |")


if __name__ == "__main__":
    _main()
