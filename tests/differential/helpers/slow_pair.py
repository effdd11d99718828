"""Both servers with audit, and the parts of the servers whose times they log about slow requests.

Every request waits for the authorization webhook, which holds its answers. So each request is slow, whatever it does.
"""

import json
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.tls_connection import client_context
from hack.lib.waiting import until
from tests.support.builders.crds import widget_crd
from tests.support.builders.kubeconfigs import write_kubeconfig
from tests.support.scripted_webhook import Json, ScriptedWebhook, WebhookCall

GROUP: Final = "slow.example.com"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
REFUSED: Final = "refused"
"""Requests whose reviews contain this text are not authorized."""
Times = dict[str, dict[str, str]]
"""Times by request and by part."""
_USERS: Final = 100
_TOKENS: Final = "".join(f"token-{number},user-{number},{number}\n" for number in range(_USERS))
"""Each request has a user of its own: servers share equal reviews."""
_POLICY: Final = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
_HELD: Final = 0.7
"""Seconds for which the webhook holds an answer; requests above 0.5 s have latencies."""
_LATENCY: Final = "apiserver.latency.k8s.io/"


@dataclass(frozen=True, slots=True)
class SlowRequest:
    """A request, and the parts of a server that take time for it."""

    name: str
    method: str
    path: str
    parts: frozenset[str]
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class SlowPair:
    """Sends requests to both servers, and returns what their audit events measure."""

    def __init__(self, pair: Pair, contexts: Sequence[ssl.SSLContext], logs: Sequence[Path]) -> None:
        self.sides = pair.reference, pair.ours
        self._contexts = contexts
        self._logs = logs

    def latencies(self, requests: Sequence[Sequence[SlowRequest]]) -> list[Times]:
        """Return the times by part and by request, for both servers. `requests` are those to each; all are sent at the same time."""
        with ThreadPoolExecutor(sum(map(len, requests))) as threads:
            calls = [
                threads.submit(self._send, number, user, request) for number in (0, 1) for user, request in enumerate(requests[number])
            ]
            for call in calls:
                call.result()
        return [self._logged(number, {request.name for request in requests[number]}) for number in (0, 1)]

    def _send(self, number: int, user: int, request: SlowRequest) -> None:
        side = Side(self.sides[number].url, self._contexts[number])
        headers = {"Authorization": f"Bearer token-{user}", "Audit-ID": request.name, **request.headers}
        side.raw(Step(request.method, request.path, request.body, headers))
        side.close()

    def _logged(self, number: int, names: set[str]) -> Times:
        """Return the times from the last event of each request."""
        found: Times = {}

        def complete() -> bool:
            for line in self._logs[number].read_text().splitlines(keepends=True):
                if line.endswith("\n") and (event := json.loads(line))["stage"] == "ResponseComplete" and event["auditID"] in names:
                    notes = event.get("annotations", {})
                    times = {key.removeprefix(_LATENCY): text for key, text in notes.items() if key.startswith(_LATENCY)}
                    found[event["auditID"]] = times
            return found.keys() == names

        until(complete, f"the log of all events on side {number}")
        return found


@contextmanager
def slow_pair(folder: Path, *flags: str) -> Iterator[SlowPair]:
    """Start both servers, with more flags, beside an authorization webhook that holds its answers, and with a definition of widgets."""
    tokens, policy, logs = folder / "tokens.csv", folder / "policy.yaml", (folder / "theirs.log", folder / "ours.log")
    tokens.write_text(_TOKENS)
    policy.write_text(yaml.safe_dump(_POLICY))
    # seats for all users at a time: on a slow machine, requests that wait for them would be refused
    limits = ["--max-requests-inflight=1600", "--max-mutating-requests-inflight=800"]
    common = [*flags, *limits, f"--token-auth-file={tokens}", f"--audit-policy-file={policy}"]
    # without webhook the reference authorizes by RBAC already
    theirs = [*common, f"--audit-log-path={logs[0]}", "--authorization-mode=Webhook", "--authorization-webhook-version=v1"]
    ours = [*common, f"--audit-log-path={logs[1]}", "--authorization-mode=RBAC,Webhook"]
    with ScriptedWebhook(folder, WebhookCall, _decision, name="authorization-webhook") as webhook:
        authority = {"certificate-authority-data": webhook.ca_bundle}
        kubeconfig = write_kubeconfig(folder / "webhook.kubeconfig", f"https://127.0.0.1:{webhook.port}", **authority)
        theirs.append(f"--authorization-webhook-config-file={kubeconfig}")
        ours.append(f"--authorization-kubeconfig={kubeconfig}")
        with (
            ControlPlane(folder / "reference", durable=False, extra_args=theirs) as plane,
            BareServer(folder, extra_args=ours) as server,
        ):
            pair = Pair(plane, server)
            contexts = client_context(plane.ca), server.ssl_context(credentials=False)
            with pair.served(widget_crd(group=GROUP)):
                yield SlowPair(pair, contexts, logs)
            pair.close()


def _decision(call: WebhookCall) -> Json:
    """Hold the answer, then allow the request unless it is one to refuse."""
    threading.Event().wait(_HELD)
    review = call.review
    return {**review, "status": {"allowed": REFUSED not in json.dumps(review["spec"])}}
