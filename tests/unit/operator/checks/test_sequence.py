"""Each fault on the way to a group is told at its hop, with what to do; nothing behind it is looked at."""

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from apiext.operator.api_clients import API_SERVICES, CRDS
from apiext.operator.checks import transport
from apiext.operator.checks.connections import Answer, NoAnswerError
from apiext.operator.checks.report import examine
from apiext.operator.checks.sequence import OF_GROUP, first_broken, walk
from apiext.operator.checks.verdict import Finding, State, Verdict, ok
from tests.unit.operator.checks.snapshot_builder import CONFIG_MAP, CRD, DISCOVERY, GROUP, READY, SERVICE, SLICES, Way

Fault = Callable[[Way], object]
SAR = b'{"message":"subjectaccessreviews.authorization.k8s.io is forbidden: User \\"ann\\" cannot create resource"}'


@pytest.fixture
def way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Way:
    """A way on which all is well, but for connections: those are tested with real ones."""
    monkeypatch.setattr(transport, "_connect", _connected)
    return Way(tmp_path)


async def _connected(*_arguments: object) -> "_Writer":
    return _Writer()


class _Writer:
    def close(self) -> None:
        pass

    async def wait_closed(self) -> None:
        pass

    def get_extra_info(self, _name: str) -> dict[str, str]:
        return {"notAfter": "later"}


def _marked(way: Way, **annotations: str) -> None:
    way.mirror["metadata"]["annotations"] |= {f"apiext.dev/{name}": text for name, text in annotations.items()}


def _cleared(way: Way) -> None:
    way.mirror["status"]["conditions"] = [{"type": "NamesAccepted", "status": "False", "reason": "Clash", "message": "taken"}]


def _fails(check: str, why: str) -> Fault:
    return lambda way: way.apiext.update(
        {"/readyz?verbose": READY.replace(f"[+]{check} ok", f"[-]{check} failed"), f"/readyz/{check}": Answer(500, why.encode())}
    )


def _unavailable(message: str) -> Fault:
    def fault(way: Way) -> None:
        way.api_service["status"] = {"conditions": [{"type": "Available", "status": "False", "reason": "Bad", "message": message}]}
        way.host[DISCOVERY] = Answer(503, b"service unavailable")

    return fault


FAULTS: list[tuple[str, str, Fault]] = [
    ("host", "no way", lambda way: way.host.update({"/version": NoAnswerError("no way")})),
    ("host", "does not know the credentials", lambda way: way.host.update({API_SERVICES: Answer(401)})),
    ("host", "may not read APIServices", lambda way: way.host.update({API_SERVICES: Answer(403)})),
    ("host", "no kube-apiserver", lambda way: way.host.update({API_SERVICES: Answer(404)})),
    ("host", "answers with 500", lambda way: way.host.update({API_SERVICES: Answer(500)})),
    ("aggregation layer", "has no requestheader-client-ca-file", lambda way: way.host.update({CONFIG_MAP: {"data": {}}})),
    ("aggregation layer", "cannot be read: 404", lambda way: way.host.update({CONFIG_MAP: Answer(404)})),
    ("definitions", "is answered with 403", lambda way: way.host.update({CRDS: Answer(403)})),
    ("definitions", f"{CRD}: not selected", lambda way: way.crd["metadata"].update(labels={})),
    ("definitions", "handed back", lambda way: way.crd["metadata"].update(annotations={"apiext.dev/hand-over": "true"})),
    ("definitions", "is being deleted", lambda way: way.crd["metadata"].update(deletionTimestamp="now")),
    ("definitions", "not Established: no condition yet on the host", lambda way: way.crd.update(status={})),
    ("APIServices", f"v1.{GROUP} does not exist", lambda way: way.host.update({API_SERVICES: {"items": []}})),
    (
        "APIServices",
        "takes it back",
        lambda way: way.api_service["metadata"]["labels"].update({"kube-aggregator.kubernetes.io/automanaged": "true"}),
    ),
    ("APIServices", "points to ns/svc:1, not to ns/svc:443", lambda way: way.api_service["spec"]["service"].update(port=1)),
    ("APIServices", "points to ns/other:443", lambda way: way.api_service["spec"]["service"].update(name="other")),
    ("APIServices", "does not verify", lambda way: way.api_service["spec"].update(caBundle=None, insecureSkipTLSVerify=True)),
    ("APIServices", "cannot be read", lambda way: way.api_service["spec"].update(caBundle=base64.b64encode(b"rubbish").decode())),
    ("Service", "does not exist", lambda way: way.host.update({SERVICE: Answer(404)})),
    ("Service", "has no port 443, only 80", lambda way: way.service["spec"].update(ports=[{"port": 80}])),
    ("Service", "no endpoint that is ready", lambda way: way.slices[0].update(endpoints=[{"conditions": {"ready": False}}])),
    ("Service", "no endpoint that is ready", lambda way: way.slices.clear()),
    ("apiext", "/livez is not answered: gone", lambda way: way.apiext.update({"/livez?verbose": NoAnswerError("gone")})),
    ("apiext", "/livez is answered with 429", lambda way: way.apiext.update({"/livez?verbose": Answer(429)})),
    ("store", "own etcd does not answer it: dead", _fails("etcd", "internal server error: dead")),
    (
        "host's definitions",
        "does not follow the host's definitions: another cluster",
        _fails("host", "internal server error: another cluster"),
    ),
    (
        "host's definitions",
        "does not follow the host's definitions: no route",
        lambda way: way.apiext.update(
            {"/readyz?verbose": READY.replace("host ok", "host ok: not reached since noon"), "/readyz/host": "ok\nno route"}
        ),
    ),
    ("readiness", "not ready: shutdown: bye", _fails("shutdown", "bye")),
    ("front proxy", "does not know the host's front proxy (401)", lambda way: way.host.update({f"as {DISCOVERY}": Answer(401)})),
    ("front proxy", "bad status from https://x: 401", _unavailable("bad status from https://x: 401")),
    ("front proxy", "remote error: tls", _unavailable("remote error: tls: unknown certificate authority")),
    ("delegation", "may not ask the host", lambda way: way.apiext.update({"as /apis": Answer(500, SAR)})),
    ("delegation", "may not read discovery", lambda way: way.apiext.update({"as /apis": Answer(403, b"no")})),
    ("delegation", "does not know the credentials", lambda way: way.apiext.update({"as /apis": Answer(401)})),
    ("delegation", "does not know the authority", lambda way: way.apiext.update({"as /apis": NoAnswerError("alert", remote=True)})),
    ("delegation", "answers /apis with 500", lambda way: way.apiext.update({"as /apis": Answer(500, b"oh")})),
    ("copies", "has no copy of it", lambda way: way.apiext.update({CRDS: {"items": []}})),
    ("copies", "refuses it: too odd", lambda way: way.apiext.update({"/readyz/host": f"ok\n{CRD}: too odd"})),
    ("copies", "one of its own", lambda way: way.mirror["metadata"].update(annotations={})),
    ("copies", "deleted on the host", lambda way: _marked(way, **{"host-uid": "other"})),
    ("copies", "phase Importing", lambda way: _marked(way, phase="Importing")),
    ("copies", "refuses it: not Established: Clash: taken", _cleared),
    ("discovery", "does not know the authority", lambda way: way.apiext.update({DISCOVERY: NoAnswerError("alert", remote=True)})),
    ("discovery", "does not answer: gone", lambda way: way.apiext.update({DISCOVERY: NoAnswerError("gone")})),
    ("discovery", "apiext answers /apis/g.example.com/v1 with 404", lambda way: way.apiext.update({DISCOVERY: Answer(404)})),
    ("discovery", "apiext does not know widgets", lambda way: way.apiext.update({DISCOVERY: {"resources": []}})),
    ("proxying", "does not reach apiext: refused", _unavailable("refused")),
    ("proxying", "the host does not know widgets", lambda way: way.host.update({DISCOVERY: {"resources": []}})),
    ("availability", "unavailable: no condition yet", lambda way: way.api_service.update(status={})),
]


async def test_all_is_well(way: Way) -> None:
    """Each hop is fine and says so; the report lists them by group."""
    report = await way.report()

    assert report.ok
    assert [finding.hop for finding in report.groups[GROUP]] == [hop.name for hop in OF_GROUP]
    assert {finding.verdict.state for finding in (*report.host, *report.groups[GROUP])} == {State.OK}
    assert report.as_json()["groups"][0]["broken"] is None


@pytest.mark.parametrize("hop, what, fault", FAULTS)
async def test_faults(way: Way, hop: str, what: str, fault: Fault) -> None:
    """The hop that is broken is the one that is named, and a remedy comes with it."""
    fault(way)

    report = await way.report(GROUP)
    findings = [*report.host, *report.groups.get(GROUP, ())]
    found = first_broken(findings)

    assert found is not None
    assert (found.hop, what in found.verdict.what, bool(found.verdict.remedy)) == (hop, True, True), str(found)
    assert {finding.verdict.state for finding in findings[findings.index(found) + 1 :]} <= {State.UNSEEN}
    assert not report.ok


@pytest.mark.parametrize(
    "hop, fault",
    [
        ("aggregation layer", lambda way: way.host.update({CONFIG_MAP: Answer(403)})),
        ("Service", lambda way: way.host.update({SERVICE: Answer(403)})),
        ("Service", lambda way: way.host.update({SLICES: Answer(403)})),
        ("store", lambda way: way.apiext.update({"/readyz?verbose": "ok"})),
    ],
)
async def test_what_cannot_be_told(way: Way, hop: str, fault: Fault) -> None:
    """What may not be read breaks nothing, and is not said to be fine."""
    fault(way)

    report = await way.report()

    told = {finding.hop: finding.verdict.state for finding in (*report.host, *report.groups[GROUP])}
    assert report.ok
    assert told[hop] is State.UNTOLD


async def test_a_name_for_another_host(way: Way) -> None:
    """A Service of type ExternalName has no endpoints, and needs none."""
    way.service["spec"] = {"type": "ExternalName", "externalName": "elsewhere"}
    way.slices.clear()

    assert (await way.report()).ok


async def test_definitions_of_its_own(way: Way) -> None:
    """A group of which the host has no definition is apiext's own; it must have one."""
    way.host[CRDS] = {"items": []}
    assert (await way.report()).ok

    way.apiext[CRDS] = {"items": []}
    found = first_broken((await way.report()).groups[GROUP])
    assert found is not None
    assert found.hop == "copies"


async def test_the_operator_s_word(way: Way) -> None:
    """What the operator says of a group that is not registered is told with it."""
    way.api_service["spec"] |= {"service": None, "caBundle": None}
    way.target = replace(way.target, authority=way.authority.cert.read_text())
    way.crd["status"]["conditions"].append({"type": "ServedByApiext", "status": "False", "reason": "Adopting", "message": "1 of 2"})

    found = first_broken((await way.report(GROUP)).groups[GROUP])

    assert found is not None
    assert (found.hop, "is local" in found.verdict.what) == ("registration", True)
    assert "(the operator: Adopting: 1 of 2)" in found.verdict.what


async def test_another_authority(way: Way) -> None:
    """The caBundle has to hold what --ca-file does; more may be in it."""
    more = way.authority.cert.read_bytes() * 2
    way.api_service["spec"]["caBundle"] = base64.b64encode(more).decode()
    way.target = replace(way.target, authority=way.authority.cert.read_text())
    assert (await way.report()).ok

    way.target = replace(way.target, authority=way.pair.cert.read_text())
    found = first_broken((await way.report()).groups[GROUP])
    assert found is not None
    assert "is not that of --ca-file" in found.verdict.what


async def test_nothing_to_serve(way: Way) -> None:
    """A host without a group for apiext is told so."""
    way.crd["metadata"]["labels"] = {}
    way.host[API_SERVICES] = {"items": []}

    report = await way.report()

    assert not report.ok
    assert report.host[-1].hop == "groups"
    assert "kubectl label crd NAME apiext.dev/serve=true" in str(report.host[-1])


async def test_groups_of_another_installation(way: Way) -> None:
    """What is registered for another apiext is not looked at, unless nobody says which one is meant."""
    way.crd["metadata"]["labels"] = {}
    way.api_service["spec"]["service"] = {"namespace": "other", "name": "svc", "port": 443}
    assert await way.look().groups() == [GROUP]

    way.api_service["metadata"]["annotations"] = {"apiext.dev/service": "other/svc"}
    assert await way.look().groups() == []
    way.target = replace(way.target, service=None)
    assert await way.look().groups() == [GROUP]


async def test_nobody_to_speak_for(way: Way) -> None:
    """Who may not impersonate asks in his own name."""
    way.host[f"as {DISCOVERY}"] = way.apiext["as /apis"] = Answer(403, b"cannot impersonate resource")

    assert (await way.report()).ok


async def test_health_with_credentials(way: Way) -> None:
    """Where nobody is let in without credentials, health is asked for with them."""
    way.unknown["/livez?verbose"] = Answer(401)

    assert (await examine(way.target, way.look().connects, [GROUP])).ok


async def test_not_registered_yet(way: Way) -> None:
    """Where the host does not proxy yet, what the operator waits for is looked at; but somebody has to say where apiext is, and whose."""
    way.api_service["spec"] |= {"service": None, "caBundle": None}
    way.apiext[CRDS] = {"items": []}
    way.target = replace(way.target, authority=way.authority.cert.read_text())
    found = first_broken((await way.report(GROUP)).groups[GROUP])
    assert found is not None
    assert (found.hop, found.verdict.what) == ("copies", f"{CRD}: apiext has no copy of it")

    way.target = replace(way.target, authority="")
    found = first_broken((await way.report(GROUP)).groups[GROUP])
    assert found is not None
    assert (found.hop, "--service and --ca-file" in found.verdict.remedy) == ("APIServices", True)


async def test_asked_once(way: Way) -> None:
    """A look asks a server for nothing twice, so that all hops speak of one moment."""
    await walk(way.look(), OF_GROUP, GROUP)

    paths = way.asked
    assert sorted(path for path in set(paths) if paths.count(path) > 1) == [CRDS, DISCOVERY]
    assert (paths.count(CRDS), paths.count(DISCOVERY)) == (2, 3), "of the host, of apiext, and by somebody else"


def test_words() -> None:
    """A finding reads as one line."""
    assert str(Finding("hop", Verdict(State.BROKEN, "it is", "mend it"))) == "hop: it is; mend it"
    assert str(Finding("hop", ok("fine"))) == "hop: fine"
