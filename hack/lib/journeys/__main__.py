"""Prints how many calls, modules and changes of room a request takes in a warm server on SQLite, and a plan of two files."""

import argparse
import http.client
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from apiext.cli.main import apiext
from hack.lib.bench import conversion, workload
from hack.lib.bench.client import Client
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


def _must(client: Client, method: str, path: str, body: dict[str, Any] | None = None, media_type: str = "application/json") -> None:
    """Send a request that succeeds."""
    code = client.call(method, path, body, media_type)
    assert code < http.HTTPStatus.BAD_REQUEST, (method, path, code)


def _requests(client: Client) -> Iterator[_Request]:
    """Yield the requests."""
    plain, guarded, stored = map(workload.collection, (_PLAIN, _GUARDED, _CONVERTED))
    other = f"{stored.replace('/v1/', '/v2/')}?resourceVersion=0"
    one = _name(0)

    def merge(collection: str, number: int) -> None:
        _must(client, "PATCH", f"{collection}/{one}", {"spec": {"sent": f"{number}"}}, _MERGE)

    def apply(number: int) -> None:
        applied = _object("Plain", 0) | {"metadata": {"name": one, "labels": {"number": f"{number}"}}}
        _must(client, "PATCH", f"{plain}/{one}?fieldManager=a&force=true", applied, _APPLY)

    yield _Request("GET", lambda _: _must(client, "GET", f"{plain}/{one}"))
    yield _Request("LIST", lambda _: _must(client, "GET", plain))
    yield _Request("CREATE", lambda number: _must(client, "POST", plain, _object("Plain", number)))
    yield _Request("merge patch", partial(merge, plain))
    yield _Request("apply", apply)
    yield _Request("CREATE with a validating webhook", lambda number: _must(client, "POST", guarded, _object("Guarded", number)))
    yield _Request("LIST through a conversion webhook, of one new object", lambda _: _must(client, "GET", other), partial(merge, stored))


def _name(number: int) -> str:
    return f"object-{number}"


def _object(kind: str, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(workload.filled(kind, {"name": _name(number)}, {"sent": "now"}))
    return found


def _fill(client: Client, admission: WebhookServer, webhook: WebhookServer) -> None:
    """Create the definitions, their objects and the webhook configuration."""
    converted = conversion.crd(_CONVERTED, "Converted", renamed=False)
    config = {"clientConfig": webhook.client_config("/well"), "conversionReviewVersions": ["v1"]}
    converted["spec"]["conversion"] = {"strategy": "Webhook", "webhook": config}
    for crd in (workload.crd(_PLAIN, "Plain"), workload.crd(_GUARDED, "Guarded"), converted):
        client.serve(crd)
        names = crd["spec"]["names"]
        for number in range(_OBJECTS):
            _must(client, "POST", workload.collection(names["plural"]), _object(names["kind"], number))
    _must(client, "POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", _guard(admission))


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
        files = {"CA": server.ca, "Cert": server.client_cert, "Key": server.client_key}
        client = Client({"URL": server.url} | {name: str(path) for name, path in files.items()})
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
    CliRunner().invoke(apiext, ["plan", str(files[1]), "--from", str(files[0])])


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
