"""The check that fails for each fault, its remedy, and the skipped checks after it."""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from apiext.api.authorization import conditional
from apiext.operator.api_clients import API_SERVICES, CRDS
from apiext.operator.checks.connections import Answer, NoAnswerError
from apiext.operator.checks.sequence import GROUP_CHECKS, examine, first_broken, run_checks
from apiext.operator.checks.snapshot import Snapshot
from apiext.operator.checks.verdict import CheckState, CheckVerdict, Finding, ok
from apiext.resources.definitions.conditions import CONVERSION_WEBHOOK_AVAILABLE
from tests.unit.operator.checks.snapshot_builder import CONFIG_MAP, CRD, DISCOVERY, GROUP, LIST, READY, SERVICE, SLICES, SnapshotBuilder

Fault = Callable[[SnapshotBuilder], object]
SAR = b'{"message":"subjectaccessreviews.authorization.k8s.io is forbidden: User \\"ann\\" cannot create resource"}'


@pytest.fixture
def builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SnapshotBuilder:
    """Provide servers on which all checks pass; connections are tested with real ones elsewhere."""
    monkeypatch.setattr(asyncio, "open_connection", _connected)
    return SnapshotBuilder(tmp_path)


async def _connected(*_arguments: object, **_options: object) -> "tuple[None, _Writer]":
    return None, _Writer()


class _Writer:
    def close(self) -> None:
        pass

    async def wait_closed(self) -> None:
        pass

    def get_extra_info(self, _name: str) -> dict[str, str]:
        return {"notAfter": "later"}


def _marked(builder: SnapshotBuilder, **annotations: str) -> None:
    builder.mirror["metadata"]["annotations"] |= {f"apiext.dev/{name}": text for name, text in annotations.items()}


def _cleared(builder: SnapshotBuilder) -> None:
    builder.mirror["status"]["conditions"] = [{"type": "NamesAccepted", "status": "False", "reason": "Clash", "message": "taken"}]


def _without_webhook(builder: SnapshotBuilder) -> None:
    condition = {"type": CONVERSION_WEBHOOK_AVAILABLE, "status": "False", "message": "it is down"}
    builder.mirror["status"]["conditions"].append(condition)


def _fails(check: str, why: str) -> Fault:
    return lambda builder: builder.apiext.update(
        {"/readyz?verbose": READY.replace(f"[+]{check} ok", f"[-]{check} failed"), f"/readyz/{check}": Answer(500, why.encode())}
    )


def _unavailable(message: str) -> Fault:
    def fault(builder: SnapshotBuilder) -> None:
        builder.api_service["status"] = {"conditions": [{"type": "Available", "status": "False", "reason": "Bad", "message": message}]}
        builder.host[DISCOVERY] = Answer(503, b"service unavailable")

    return fault


_REVIEWS: Final = {"resources": [{"name": "authorizationconditionsreviews"}]}
_GATE: Final = 'kubernetes_feature_enabled{name="ConditionalAuthorization",stage="ALPHA"} 1\n'


def _conditional(builder: SnapshotBuilder) -> None:
    builder.host["/metrics"] = _GATE
    builder.apiext["/readyz?verbose"] = f"{READY}[+]front-proxy ok\n"


def _forbidden(user: str) -> Answer:
    return Answer(403, f'{{"message":"widgets.{GROUP} is forbidden: User \\"{user}\\" cannot list resource"}}'.encode())


FAULTS: list[tuple[str, str, Fault]] = [
    ("authorization", "without its conditions: the host has the feature gate ConditionalAuthorization", _conditional),
    ("host", "no way", lambda builder: builder.host.update({"/version": NoAnswerError("no way")})),
    ("host", "does not know the credentials", lambda builder: builder.host.update({API_SERVICES: Answer(401)})),
    ("host", "may not read APIServices", lambda builder: builder.host.update({API_SERVICES: Answer(403)})),
    ("host", "no kube-apiserver", lambda builder: builder.host.update({API_SERVICES: Answer(404)})),
    ("host", "answers with 500", lambda builder: builder.host.update({API_SERVICES: Answer(500)})),
    ("aggregation layer", "has no requestheader-client-ca-file", lambda builder: builder.host.update({CONFIG_MAP: {"data": {}}})),
    ("aggregation layer", "cannot be read: 404", lambda builder: builder.host.update({CONFIG_MAP: Answer(404)})),
    ("definitions", "is answered with 403", lambda builder: builder.host.update({CRDS: Answer(403)})),
    ("definitions", f"{CRD}: not selected", lambda builder: builder.crd["metadata"].update(labels={})),
    ("definitions", "handed back", lambda builder: builder.crd["metadata"].update(annotations={"apiext.dev/hand-over": "true"})),
    ("definitions", "is being deleted", lambda builder: builder.crd["metadata"].update(deletionTimestamp="now")),
    ("definitions", "not Established: no condition yet on the host", lambda builder: builder.crd.update(status={})),
    ("APIServices", f"v1.{GROUP} does not exist", lambda builder: builder.host.update({API_SERVICES: {"items": []}})),
    (
        "APIServices",
        "takes it back",
        lambda builder: builder.api_service["metadata"]["labels"].update({"kube-aggregator.kubernetes.io/automanaged": "true"}),
    ),
    ("APIServices", "points to ns/svc:1, not to ns/svc:443", lambda builder: builder.api_service["spec"]["service"].update(port=1)),
    ("APIServices", "points to ns/other:443", lambda builder: builder.api_service["spec"]["service"].update(name="other")),
    ("APIServices", "does not verify", lambda builder: builder.api_service["spec"].update(caBundle=None, insecureSkipTLSVerify=True)),
    ("APIServices", "cannot be read", lambda builder: builder.api_service["spec"].update(caBundle=base64.b64encode(b"rubbish").decode())),
    ("Service", "does not exist", lambda builder: builder.host.update({SERVICE: Answer(404)})),
    ("Service", "has no port 443, only 80", lambda builder: builder.service["spec"].update(ports=[{"port": 80}])),
    ("Service", "no endpoint that is ready", lambda builder: builder.slices[0].update(endpoints=[{"conditions": {"ready": False}}])),
    ("Service", "no endpoint that is ready", lambda builder: builder.slices.clear()),
    ("apiext", "/livez is not answered: gone", lambda builder: builder.apiext.update({"/livez?verbose": NoAnswerError("gone")})),
    ("apiext", "/livez is answered with 429", lambda builder: builder.apiext.update({"/livez?verbose": Answer(429)})),
    ("store", "own etcd does not answer it: dead", _fails("etcd", "internal server error: dead")),
    (
        "store",
        "own etcd refuses writes: NOSPACE: no more",
        lambda builder: builder.apiext.update(
            {"/readyz?verbose": f"{READY}[+]etcd-alarms ok: NOSPACE: no more\n", "/readyz/etcd-alarms": "ok\nNOSPACE: no more"}
        ),
    ),
    (
        "store",
        "a KMS plugin of the encryption fails: kms-provider-0: gone",
        lambda builder: builder.apiext.update(
            {"/readyz?verbose": f"{READY}[-]kms-providers failed", "/readyz/kms-providers": Answer(500, b"kms-provider-0: gone")}
        ),
    ),
    (
        "host's definitions",
        "does not follow the host's definitions: another cluster",
        _fails("host", "internal server error: another cluster"),
    ),
    (
        "host's definitions",
        "does not follow the host's definitions: no route",
        lambda builder: builder.apiext.update(
            {"/readyz?verbose": READY.replace("host ok", "host ok: not reached since noon"), "/readyz/host": "ok\nno route"}
        ),
    ),
    ("admission", "refuses all writes: not listed: [*v1.X]", _fails("admission", "internal server error: not listed: [*v1.X]")),
    (
        "admission",
        "refuses some writes: no parameters",
        lambda builder: builder.apiext.update(
            {"/readyz?verbose": READY.replace("admission ok", "admission ok: no parameters"), "/readyz/admission": "ok\nno parameters"}
        ),
    ),
    ("readiness", "not ready: shutdown: bye", _fails("shutdown", "bye")),
    ("front proxy", "does not know the host's front proxy (401)", lambda builder: builder.host.update({f"as {DISCOVERY}": Answer(401)})),
    ("front proxy", "for requests of proxy: it answers 403", lambda builder: builder.host.update({LIST: _forbidden("proxy")})),
    (
        "authorization",
        "any front proxy sends as authorized: 2 names",
        lambda builder: builder.apiext.update({"/readyz?verbose": READY.replace("[+]shutdown", "[+]front-proxy ok: 2 names\n[+]shutdown")}),
    ),
    ("front proxy", "bad status from https://x: 401", _unavailable("bad status from https://x: 401")),
    ("front proxy", "remote error: tls", _unavailable("remote error: tls: unknown certificate authority")),
    ("delegation", "may not ask the host", lambda builder: builder.apiext.update({"as /apis": Answer(500, SAR)})),
    ("delegation", "may not read discovery", lambda builder: builder.apiext.update({"as /apis": Answer(403, b"no")})),
    ("delegation", "does not know the credentials", lambda builder: builder.apiext.update({"as /apis": Answer(401)})),
    ("delegation", "does not know the authority", lambda builder: builder.apiext.update({"as /apis": NoAnswerError("alert", remote=True)})),
    ("delegation", "answers /apis with 500", lambda builder: builder.apiext.update({"as /apis": Answer(500, b"oh")})),
    ("copies", "has no copy of it", lambda builder: builder.apiext.update({CRDS: {"items": []}})),
    ("copies", "refuses it: too odd", lambda builder: builder.apiext.update({"/readyz/host": f"ok\n{CRD}: too odd"})),
    ("copies", "one of its own", lambda builder: builder.mirror["metadata"].update(annotations={})),
    ("copies", "deleted on the host", lambda builder: _marked(builder, **{"host-uid": "other"})),
    ("copies", "phase Importing", lambda builder: _marked(builder, phase="Importing")),
    ("copies", "refuses it: not Established: Clash: taken", _cleared),
    ("copies", "cannot convert its objects: it is down", _without_webhook),
    ("discovery", "does not know the authority", lambda builder: builder.apiext.update({DISCOVERY: NoAnswerError("alert", remote=True)})),
    ("discovery", "does not answer: gone", lambda builder: builder.apiext.update({DISCOVERY: NoAnswerError("gone")})),
    ("discovery", "apiext answers /apis/g.example.com/v1 with 404", lambda builder: builder.apiext.update({DISCOVERY: Answer(404)})),
    ("discovery", "apiext does not know widgets", lambda builder: builder.apiext.update({DISCOVERY: {"resources": []}})),
    ("proxying", "does not reach apiext: refused", _unavailable("refused")),
    ("proxying", "the host does not know widgets", lambda builder: builder.host.update({DISCOVERY: {"resources": []}})),
    ("availability", "unavailable: no condition yet", lambda builder: builder.api_service.update(status={})),
]


async def test_passes_all_checks(builder: SnapshotBuilder) -> None:
    """Pass all checks of a sound cluster, and list them by group."""
    report = await builder.report()

    assert report.ok
    assert [finding.check for finding in report.groups[GROUP]] == list(GROUP_CHECKS)
    assert {finding.verdict.state for finding in (*report.host, *report.groups[GROUP])} == {CheckState.OK}
    assert report.as_json()["groups"][0]["broken"] is None


@pytest.mark.parametrize("check, what, fault", FAULTS)
async def test_reports_the_failed_check(builder: SnapshotBuilder, check: str, what: str, fault: Fault) -> None:
    """Report the check that a fault affects, with a remedy, and skip the checks after it."""
    fault(builder)

    report = await builder.report(GROUP)
    findings = [*report.host, *report.groups.get(GROUP, ())]
    found = first_broken(findings)

    assert found is not None
    assert (found.check, what in found.verdict.what, bool(found.verdict.remedy)) == (check, True, True), str(found)
    assert {finding.verdict.state for finding in findings[findings.index(found) + 1 :]} <= {CheckState.SKIPPED}
    assert not report.ok


async def test_reports_an_unexpected_exception(builder: SnapshotBuilder) -> None:
    """Report a check that raises an unexpected exception as failed, and skip the checks after it."""
    builder.apiext["/livez?verbose"] = RuntimeError("half-written")

    report = await builder.report(GROUP)

    failed = first_broken(report.groups[GROUP])
    assert failed is not None
    assert failed.check == "apiext"
    assert (failed.verdict.what, report.ok) == ("unexpected error: RuntimeError: half-written", False)
    assert report.as_json()["groups"][0]["broken"] == "apiext"


async def test_reports_an_unexpected_exception_before_the_groups(builder: SnapshotBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report the host's checks even if the groups cannot be determined because of an unexpected exception."""

    async def groups(_snapshot: Snapshot) -> list[str]:
        raise RuntimeError("half-written")

    monkeypatch.setattr(Snapshot, "groups", groups)
    report = await builder.report()

    assert report.host[-1].check == "groups"
    assert "RuntimeError: half-written" in report.host[-1].verdict.what


@pytest.mark.parametrize(
    "check, fault",
    [
        ("aggregation layer", lambda builder: builder.host.update({CONFIG_MAP: Answer(403)})),
        ("conditions", lambda builder: builder.host.update({"/metrics": _GATE})),
        (
            "conditions",
            lambda builder: builder.host.update({conditional.DISCOVERY: _REVIEWS}),
        ),
        (
            "authorization",
            lambda builder: builder.apiext.update(
                {"/readyz?verbose": f"{READY}[+]front-proxy ok\n[+]conditional-authorization ok: not asked yet\n"}
            ),
        ),
        ("front proxy", lambda builder: (builder.host.update({LIST: _forbidden("me")}), builder.apiext.update({LIST: _forbidden("me")}))),
        ("Service", lambda builder: builder.host.update({SERVICE: Answer(403)})),
        ("Service", lambda builder: builder.host.update({SLICES: Answer(403)})),
        ("store", lambda builder: builder.apiext.update({"/readyz?verbose": "ok"})),
        ("admission", lambda builder: builder.apiext.update({"/readyz?verbose": "[+]etcd ok\n"})),
    ],
)
async def test_reports_unknown_results(builder: SnapshotBuilder, check: str, fault: Fault) -> None:
    """Report a forbidden read as unknown, neither failed nor passed."""
    fault(builder)

    report = await builder.report()

    states = {finding.check: finding.verdict.state for finding in (*report.host, *report.groups[GROUP])}
    assert report.ok
    assert states[check] is CheckState.UNKNOWN


async def test_accepts_external_names(builder: SnapshotBuilder) -> None:
    """Require no endpoints of a Service of type ExternalName."""
    builder.service["spec"] = {"type": "ExternalName", "externalName": "elsewhere"}
    builder.slices.clear()

    assert (await builder.report()).ok


async def test_requires_own_definitions(builder: SnapshotBuilder) -> None:
    """Require a definition in apiext for a group without definitions on the host."""
    builder.host[CRDS] = {"items": []}
    assert (await builder.report()).ok

    builder.apiext[CRDS] = {"items": []}
    found = first_broken((await builder.report()).groups[GROUP])
    assert found is not None
    assert found.check == "copies"


async def test_quotes_the_operators_condition(builder: SnapshotBuilder) -> None:
    """Quote the operator's condition for a group that is not registered."""
    builder.api_service["spec"] |= {"service": None, "caBundle": None}
    builder.target = replace(builder.target, authority=builder.authority.cert.read_text())
    builder.crd["status"]["conditions"].append({"type": "ServedByApiext", "status": "False", "reason": "Adopting", "message": "1 of 2"})

    found = first_broken((await builder.report(GROUP)).groups[GROUP])

    assert found is not None
    assert (found.check, "is local" in found.verdict.what) == ("registration", True)
    assert "(the operator: Adopting: 1 of 2)" in found.verdict.what


async def test_compares_the_ca_bundle(builder: SnapshotBuilder) -> None:
    """Require the authorities of --ca-file in the caBundle, and accept more."""
    more = builder.authority.cert.read_bytes() * 2
    builder.api_service["spec"]["caBundle"] = base64.b64encode(more).decode()
    builder.target = replace(builder.target, authority=builder.authority.cert.read_text())
    assert (await builder.report()).ok

    builder.target = replace(builder.target, authority=builder.pair.cert.read_text())
    found = first_broken((await builder.report()).groups[GROUP])
    assert found is not None
    assert "is not that of --ca-file" in found.verdict.what


async def test_reports_a_host_without_groups(builder: SnapshotBuilder) -> None:
    """Report a host without a group for apiext."""
    builder.crd["metadata"]["labels"] = {}
    builder.host[API_SERVICES] = {"items": []}

    report = await builder.report()

    assert not report.ok
    assert report.host[-1].check == "groups"
    assert "kubectl label crd NAME apiext.dev/serve=true" in str(report.host[-1])


async def test_ignores_groups_of_another_installation(builder: SnapshotBuilder) -> None:
    """Ignore groups of another apiext, unless no Service is given."""
    builder.crd["metadata"]["labels"] = {}
    builder.api_service["spec"]["service"] = {"namespace": "other", "name": "svc", "port": 443}
    assert await builder.build().groups() == [GROUP]

    builder.api_service["metadata"]["annotations"] = {"apiext.dev/service": "other/svc"}
    assert await builder.build().groups() == []
    builder.target = replace(builder.target, service=None)
    assert await builder.build().groups() == [GROUP]


async def test_falls_back_to_its_own_user(builder: SnapshotBuilder) -> None:
    """Send requests as the own user if impersonation is forbidden."""
    builder.host[f"as {DISCOVERY}"] = builder.apiext["as /apis"] = Answer(403, b"cannot impersonate resource")

    assert (await builder.report()).ok


async def test_sends_credentials_for_health(builder: SnapshotBuilder) -> None:
    """Send credentials to the health endpoints after a 401 or 403."""
    builder.unknown["/livez?verbose"] = Answer(401)

    assert (await examine(builder.target, builder.build().connections, [GROUP])).ok


async def test_checks_a_group_before_its_registration(builder: SnapshotBuilder) -> None:
    """Run the checks that the registration depends on, if the flags give address and authority of apiext."""
    builder.api_service["spec"] |= {"service": None, "caBundle": None}
    builder.apiext[CRDS] = {"items": []}
    builder.target = replace(builder.target, authority=builder.authority.cert.read_text())
    found = first_broken((await builder.report(GROUP)).groups[GROUP])
    assert found is not None
    assert (found.check, found.verdict.what) == ("copies", f"{CRD}: apiext has no copy of it")

    builder.target = replace(builder.target, authority="")
    found = first_broken((await builder.report(GROUP)).groups[GROUP])
    assert found is not None
    assert (found.check, "--service and --ca-file" in found.verdict.remedy) == ("APIServices", True)


async def test_sends_each_request_once(builder: SnapshotBuilder) -> None:
    """Send no request twice, so that all checks see the same state."""
    await run_checks(builder.build(), GROUP_CHECKS, GROUP)

    paths = builder.asked
    assert sorted(path for path in set(paths) if paths.count(path) > 1) == [CRDS, DISCOVERY, LIST]
    assert (paths.count(CRDS), paths.count(DISCOVERY), paths.count(LIST)) == (2, 3, 2), "of the host, of apiext, and by another user"


def test_formats_a_finding() -> None:
    """Format a finding as one line."""
    assert str(Finding("hop", CheckVerdict(CheckState.BROKEN, "it is", "mend it"))) == "hop: it is; mend it"
    assert str(Finding("hop", ok("fine"))) == "hop: fine"
