"""Measures lists of objects in another version than the stored one: by strategy None, by a webhook with its calls, and by rules."""

import base64
import contextlib
import copy
import http.client
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from apiext.base.tls_trust import trusting_context
from apiext.operator.conversionserver.cluster_objects import STRATEGY, WEBHOOK
from apiext.resources.conversion.rules.definition import conversion_definition
from hack.lib.bench import workload
from hack.lib.bench.client import Client
from hack.lib.bench.loadgen import Result
from hack.lib.bench.targets import Target
from hack.lib.servers import resources

LABEL: Final = "list at another version"
_PLURAL: Final = "converteds"
_WARM_SECONDS: Final = 5.0
_NOT_YET: Final = frozenset({404, 429, 503})
"""Answers of a server that does not serve a definition yet, or has not loaded its cache."""
_NOTHING: Final[Mapping[str, str]] = {}
_PATIENCE: Final = 120.0
"""Seconds that the first list may take."""

Send = Callable[..., Result]
"""Runs the load generator."""
Converting = Callable[[], contextlib.AbstractContextManager[Callable[[str], None]]]
"""Converts by Conversion objects during a block, in which a function waits until a CRD is converted."""


@contextlib.contextmanager
def converting_itself() -> Iterator[Callable[[str], None]]:
    """Let the target convert, which needs no time to begin."""
    yield lambda _name: None


@dataclass(frozen=True, slots=True)
class Webhook:
    """The running webhook of hack/loadgen/conversion."""

    url: str
    certificate: str

    def counts(self) -> tuple[int, int]:
        """Return the numbers of answered calls and converted objects so far."""
        context = trusting_context(cadata=self.certificate)
        connection = http.client.HTTPSConnection(urlsplit(self.url).netloc, context=context)
        connection.request("GET", "/counts")
        found = json.load(connection.getresponse())
        connection.close()
        return found["calls"], found["objects"]


@contextlib.contextmanager
def running(binary: Path) -> Iterator[Webhook]:
    """Run the webhook."""
    with subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            told = json.loads(process.stdout.readline())
            yield Webhook(told["url"], told["ca"])
        finally:
            process.kill()


def crd(plural: str, kind: str, *, renamed: bool = True, carried: bool = False) -> dict[str, Any]:
    """Return a definition with two versions: spec.sent of the stored v1 is spec.sentAt of v2 if it is `renamed`.

    With `carried`, v2 lacks spec.note of v1.
    """
    found = copy.deepcopy(workload.crd(plural, kind))
    (stored,) = found["spec"]["versions"]
    other = copy.deepcopy(stored) | {"name": "v2", "storage": False}
    spec = other["schema"]["openAPIV3Schema"]["properties"]["spec"]
    if renamed:
        spec["required"] = ["sentAt"]
        spec["properties"]["sentAt"] = spec["properties"].pop("sent")
    if carried:
        stored["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["note"] = {"type": "string"}
    found["spec"]["versions"] = [stored, other]
    return found


def webhook_crd(webhook: Webhook) -> dict[str, Any]:
    """Return a definition whose objects the webhook converts."""
    found = crd(_PLURAL, "Converted")
    config = {"url": f"{webhook.url}/convert", "caBundle": base64.b64encode(webhook.certificate.encode()).decode()}
    found["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}
    return found


def measure(target: Target, webhook: Webhook, client: Client, send: Send, count: int) -> dict[str, float]:
    """Return the figures of lists of many objects in the other version than the stored one."""
    client.serve(webhook_crd(webhook))
    path = workload.collection(_PLURAL)
    _fill(send, _PLURAL, "Converted", count)
    target.restart()
    before, _ = webhook.counts()
    cold = _list_seconds(target, _other(path))
    between, _ = webhook.counts()
    warm = send(Method="GET", Path=_other(path), Clients=workload.CLIENTS, Seconds=_WARM_SECONDS)
    after, _ = webhook.counts()
    what = f"{count:,} objects through a webhook"
    return {
        f"first list of {what} after a restart, s": cold,
        "its calls of the webhook": between - before,
        f"later lists of {what}, ms each": 1000 / warm.rate,
        "their calls of the webhook": after - between,
        "memory with two versions read, MiB": _memory_of_both(target, path),
    }


def measure_others(target: Target, send: Send, count: int, converting: Converting | None) -> dict[str, float]:
    """Return the figures of the same lists without a webhook of its author: by strategy None and, if the target can, by rules."""
    Client(target.access()).serve(crd("plains", "Plain", renamed=False))
    _fill(send, "plains", "Plain", count)
    figures = {f"list of {count:,} objects converted by strategy None, s": _cold(target, "plains")}
    if converting is not None:
        # the server has started again
        client = Client(target.access())
        client.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", conversion_definition())
        figures[f"list of {count:,} objects converted by rules, s"] = _ruled(target, send, count, converting, "ruleds")
        what = f"list of {count:,} objects that all carry a field, converted by rules, s"
        figures[what] = _ruled(target, send, count, converting, "carrieds", note="x" * 16)
    return figures


def _ruled(target: Target, send: Send, count: int, converting: Converting, plural: str, **carried: str) -> float:
    """Return the seconds of a list of objects that rules convert, and that carry some fields."""
    client = Client(target.access())
    while client.call("POST", "/apis/conversions.apiext.dev/v1alpha1/conversions", _rules(plural)) != http.client.CREATED:
        time.sleep(0.05)
    kind = plural.removesuffix("s").capitalize()
    with converting() as wait_until_converted:
        ruled = crd(plural, kind, carried=bool(carried))
        ruled["metadata"]["annotations"] = {STRATEGY: WEBHOOK}
        client.serve(ruled)
        wait_until_converted(ruled["metadata"]["name"])
        _fill(send, plural, kind, count, carried)
        return _cold(target, plural)


def _rules(plural: str) -> dict[str, Any]:
    rules = [{"rename": {"path": "spec.sentAt", "to": "sent"}}]
    return {
        "apiVersion": "conversions.apiext.dev/v1alpha1",
        "kind": "Conversion",
        "metadata": {"name": f"{plural}.{workload.GROUP}"},
        "spec": {"hub": "v1", "spokes": [{"version": "v2", "rules": rules}]},
    }


def _other(path: str) -> str:
    return path.replace("/v1/", "/v2/")


def _cold(target: Target, plural: str) -> float:
    path = workload.collection(plural)
    target.restart()
    # the cache of the stored objects is loaded once for all
    _list_seconds(target, path)
    return _list_seconds(target, _other(path))


def _fill(send: Send, plural: str, kind: str, count: int, more: Mapping[str, str] = _NOTHING) -> None:
    """Create objects of the stored version, with more fields."""
    body = workload.filled(kind, {"name": f"{kind.lower()}-{{i}}", "namespace": workload.NAMESPACE}, {"sent": "{t}", **more})
    post = {"Method": "POST", "Path": workload.collection(plural), "Body": body, "ContentType": "application/json"}
    send(**post, Clients=workload.CLIENTS, Requests=count, Objects=count, Seconds=300)


def first_list_seconds(target: Target, path: str) -> float:
    """Restart a target and return the seconds of its first list."""
    target.restart()
    return _list_seconds(target, path)


def _memory_of_both(target: Target, path: str) -> float:
    _list_seconds(target, path)
    return resources.proportional_mib(target.pids())


def _list_seconds(target: Target, path: str) -> float:
    """Return the seconds until a list of all is complete. A server that has just started may refuse it at first.

    Raises:
        RuntimeError: The server refuses it for too long.
    """
    client = Client(target.access())
    start = time.monotonic()
    while (code := client.call("GET", path)) != http.client.OK:
        if code not in _NOT_YET or time.monotonic() > start + _PATIENCE:
            raise RuntimeError(f"GET {path}: {code}")
        time.sleep(0.02)
    return time.monotonic() - start
