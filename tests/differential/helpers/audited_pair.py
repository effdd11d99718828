"""Both servers with the same audit policy, and the events that they log about the same requests."""

import http.client
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from apiext.base.meta.encoding import utf8
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, Step, nested
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.tls_connection import client_context
from hack.lib.waiting import until
from tests.differential.helpers import rbac
from tests.differential.helpers.guarded_pair import MARKER_CRD, GuardedPair
from tests.support.admission_webhook import AdmissionWebhook
from tests.support.builders.crds import version, widget_crd

Json = dict[str, Any]
GROUP: Final = "audit.example.com"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
OLD_WIDGETS: Final = f"/apis/{GROUP}/v1alpha1/namespaces/default/widgets"
_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez"]},
        {"level": "None", "users": ["carl"], "verbs": ["list"]},
        {"level": "Metadata", "namespaces": ["kube-public"]},
        {"level": "Metadata", "resources": [{"group": GROUP, "resources": ["*/scale"]}]},
        {"level": "Metadata", "resources": [{"group": GROUP, "resources": ["widgets"], "resourceNames": ["quiet"]}]},
        {"level": "Request", "omitStages": ["RequestReceived"], "resources": [{"group": GROUP, "resources": ["widgets/status"]}]},
        {"level": "Request", "userGroups": ["dev"]},
        {"level": "RequestResponse", "omitManagedFields": True, "resources": [{"group": GROUP}]},
        {"level": "RequestResponse", "resources": [{"group": "", "resources": ["namespaces"]}]},
        {"level": "Metadata"},
    ],
}
_LAST: Final = frozenset({"ResponseComplete", "Panic"})
_UNAUTHENTICATED: Final = 401
_CREDENTIAL: Final = re.compile(r"X509SHA256=[0-9a-f]{64}")
_GENERATED: Final = re.compile(r"gen-[a-z0-9]{5}\b")
_LATENCY: Final = "apiserver.latency.k8s.io/"
_TIMES: Final = ("requestReceivedTimestamp", "stageTimestamp")
_MICRO: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@dataclass(frozen=True, slots=True)
class Case:
    """A request; the administrator sends it unless it has a token, or is anonymous."""

    label: str
    step: Step
    token: str | None = None
    """A bearer token, empty for none."""


class ReferenceAbortedError(Exception):
    """kube-apiserver closed the connection without an answer: the request ended while its answer began (filters/timeout.go)."""


class AuditedPair:
    """Sends requests to both servers, and compares their audit events."""

    def __init__(self, guarded: GuardedPair, bare: tuple[Side, Side], logs: tuple[Path, Path]) -> None:
        self.guarded = guarded
        self._bare = bare
        self._logs = logs

    def differences(self, cases: Sequence[Case]) -> list[str]:
        """Return a line for each difference of the events about the requests, which are sent in turn.

        Raises:
            ReferenceAbortedError: a request has no answer of kube-apiserver.
        """
        codes = [self._send(number, cases) for number in range(2)]
        assert codes[0] == codes[1], list(zip([case.label for case in cases], *codes, strict=True))
        theirs, ours = (self._events(number, cases, codes[0]) for number in range(2))
        found = []
        for case in cases:
            name = case.label
            self.guarded.pair.compared += 1
            stages = [[event["stage"] for event in events.get(name, [])] for events in (theirs, ours)]
            if stages[0] != stages[1]:
                found.append(f"{name}\n    reference: {stages[0]}\n    apiext:    {stages[1]}")
                continue
            pairs = nested("", theirs.get(name, []), ours.get(name, []))
            found += [f"{name}\n    reference: {one}\n    apiext:    {other}" for one, other in pairs]
        return found

    def _send(self, number: int, cases: Sequence[Case]) -> list[int]:
        codes = []
        for case in cases:
            side = self.guarded.sides[number][1] if case.token is None else self._bare[number]
            token = {"Authorization": f"Bearer {case.token}"} if case.token else {}
            headers = {"Audit-ID": case.label, "User-Agent": "audited/1", **token, **case.step.headers}
            try:
                response, _ = side.raw(replace(side.resolved(case.step), headers=headers))
            except http.client.RemoteDisconnected as error:
                if number:
                    raise
                raise ReferenceAbortedError(case.label) from error
            codes.append(response.status)
        return codes

    def _events(self, number: int, cases: Sequence[Case], codes: Sequence[int]) -> dict[str, list[Json]]:
        """Return the events by request, after the last one of each request that has one."""
        ends = {case.label for case, code in zip(cases, codes, strict=True) if case.label.startswith("recorded")}
        found: dict[str, list[Json]] = {}

        def complete() -> bool:
            found.clear()
            # the reference records the bytes of a patch as they are
            text = utf8.replaced(self._logs[number].read_bytes().decode(errors="surrogateescape"))
            for line in text.split("\n")[:-1]:
                if (event := json.loads(line))["auditID"] in {case.label for case in cases}:
                    found.setdefault(event["auditID"], []).append(event)
            return all(_is_complete(found.get(label, [])) for label in ends)

        until(complete, f"the log of all events on side {number}")
        return {label: list(map(_comparable, _last_attempt(events))) for label, events in found.items()}


def _last_attempt(events: Sequence[Json]) -> Sequence[Json]:
    """Return the events of a request that was repeated because the server had closed its connection."""
    begins = [number for number, event in enumerate(events) if event["stage"] == "RequestReceived"]
    return events[begins[-1] :] if begins else events


def _is_complete(events: Sequence[Json]) -> bool:
    if not events:
        return False
    refused = events[-1].get("responseStatus", {}).get("code") in {_UNAUTHENTICATED, 400} and len(events) == 1
    return events[-1]["stage"] in _LAST or refused


def _comparable(event: Json) -> Json:
    """Return an event without what differs between any two servers."""
    for name in _TIMES:
        assert _MICRO.fullmatch(event[name]), event
        event[name] = "<time>"
    notes = {key: text for key, text in event.get("annotations", {}).items() if not key.startswith(_LATENCY)}
    found = masked({**event, **({"annotations": notes} if notes else {})})
    # a name that the server has generated
    text = _CREDENTIAL.sub("<credential>", _GENERATED.sub("<generated>", json.dumps(found))).replace('"apiext-admin"', '"admin"')
    result: Json = json.loads(text)
    return result


def audited_crd() -> Json:
    """Return the definition of the widgets, with a deprecated version."""
    definition = widget_crd(group=GROUP)
    old = version("v1alpha1", schema=definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], deprecated=True)
    definition["spec"]["versions"].append(old)
    return definition


@contextmanager
def audited_pair(folder: Path) -> Iterator[AuditedPair]:
    """Start both servers with RBAC, the same tokens and the policy, beside a webhook."""
    tokens, policy, logs = folder / "tokens.csv", folder / "policy.yaml", (folder / "theirs.log", folder / "ours.log")
    tokens.write_text(rbac.TOKENS)
    policy.write_text(yaml.safe_dump(_POLICY))
    common = [f"--token-auth-file={tokens}", f"--audit-policy-file={policy}"]
    flags = [[*common, f"--audit-log-path={log}"] for log in logs]
    with (
        ControlPlane(folder / "reference", durable=False, extra_args=flags[0]) as plane,
        AdmissionWebhook(folder) as webhook,
        BareServer(folder, extra_args=["--authorization-mode=RBAC", *flags[1]]) as server,
    ):
        pair = Pair(plane, server)
        contexts = client_context(plane.ca), server.ssl_context(credentials=False)
        bare = Side(plane.url, contexts[0]), Side(server.url, contexts[1])
        for side in (pair.reference, pair.ours):
            rbac.grant(side)
        with pair.served(MARKER_CRD, audited_crd()):
            yield AuditedPair(GuardedPair(pair, webhook), bare, logs)
        for one in (*bare, pair):
            one.close()
