"""Audit events of requests that pass the filters."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import pytest
from aiohttp import web

from apiext.api.audit.backend import AuditStats
from apiext.api.audit.event import AuditEvent
from apiext.api.audit.levels import AuditLevel
from apiext.api.audit.policy import AuditPolicy, AuditRule, AuditSettings
from apiext.api.authorization.authorizer import AuthorizationModes, Decision, ReviewError, Verdict
from apiext.api.endpoints.request import AUDIT, INFO, WARNINGS, WORKERS, Handler, attached
from apiext.api.endpoints.responsewriters.response import ResponseStream
from apiext.api.filters.auditing import Audit, Auditing, AuditInit
from apiext.api.filters.authentication import Authentication
from apiext.api.filters.authorization import Authorization
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.headers import AuditID
from apiext.api.filters.impersonation import ImpersonationFilter
from apiext.api.filters.metrics import RequestStats
from apiext.api.filters.request_deadline import RequestDeadline
from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.limits import MAX_INLINE_BYTES
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.meta.time import parse_duration
from tests.support.garbage import collected
from tests.unit.api.audit.events import Taken
from tests.unit.api.filters.conftest import Make, failing, hangs, hello

WIDGET = "/apis/example.com/v1/namespaces/default/widgets/a"
WATCH = "/apis/example.com/v1/widgets?watch=1"


def _auditing(sink: Taken, level: AuditLevel = AuditLevel.METADATA) -> Auditing:
    return Auditing(AuditPolicy((AuditRule(AuditSettings(level)),)), sink, AuditStats())


def _chain(auditing: Auditing, handler: Handler = hello) -> Handler:
    return AuditInit(ErrorRendering(RequestDeadline(Audit(handler, auditing=auditing), maximum=60.0, stats=RequestStats())))


def _status(sink: Taken) -> Any:
    return sink.documents()[-1].get("responseStatus")


async def test_answers(exchange: Make) -> None:
    """Emit an event at the arrival, and one with the code of the answer."""
    sink = Taken()
    auditing = _auditing(sink)
    agent = "x" * 1025
    headers = {"Audit-Id": "an-id", "User-Agent": agent, "X-Forwarded-For": "10.0.0.1"}
    await exchange(path=WIDGET, headers=headers).through(_chain(auditing))
    first, last = sink.documents()

    assert (first["stage"], last["stage"]) == ("RequestReceived", "ResponseComplete")
    assert (first["auditID"], first["requestURI"], first["verb"]) == ("an-id", WIDGET, "get")
    assert (first["userAgent"], first["sourceIPs"][0]) == (agent[:1024] + "...TRUNCATED", "10.0.0.1")
    assert last["responseStatus"] == {"metadata": {}, "code": 200}
    assert (auditing.stats.events, auditing.stats.levels) == (2, [0, 1, 0, 0])


@pytest.mark.parametrize("init", [AuditInit, AuditID])
async def test_level_none(exchange: Make, init: type[AuditInit | AuditID]) -> None:
    """Emit no event of a request that the policy does not record, and keep no context: all requests, or some of them."""
    auditing = _auditing(sink := Taken(), AuditLevel.NONE)

    async def streams(request: web.BaseRequest) -> web.StreamResponse:
        await (stream := ResponseStream()).prepare(request)
        return stream if AUDIT not in request else web.Response(status=500)

    allowing = Authorization(streams, modes=AuthorizationModes(before=[lambda *_: Verdict(Decision.ALLOW)]), audited=True)
    watch = await exchange(path=WATCH).through(init(Audit(allowing, auditing=auditing)))
    assert (watch.status, sink.events, auditing.records_nothing, auditing.stats.levels) == (200, [], True, [1, 0, 0, 0])


@pytest.mark.parametrize(
    "error, stage, status",
    [
        (errors.bad_request("no"), "ResponseComplete", {"status": "Failure", "message": "no", "reason": "BadRequest", "code": 400}),
        (web.HTTPRequestEntityTooLarge(1, 2), "ResponseComplete", {"code": 413}),
        (
            ZeroDivisionError("defect"),
            "Panic",
            {"status": "Failure", "message": "APIServer panic'd: defect", "reason": "InternalError", "code": 500},
        ),
        (ConnectionResetError(), "ResponseComplete", {"status": "Success", "message": "Connection closed early", "code": 200}),
    ],
)
async def test_failures(exchange: Make, error: Exception, stage: str, status: dict[str, Any]) -> None:
    """Record the Status of a failure, a defect as a panic, and a disconnected client."""
    sink = Taken()
    chain = _chain(_auditing(sink, AuditLevel.REQUEST_RESPONSE), failing(error))
    with suppress(ZeroDivisionError, ConnectionResetError):
        await exchange(path=WIDGET).through(chain)

    assert (sink.stages[-1], _status(sink)) == (stage, {"metadata": {}, **status})
    assert ("responseObject" in sink.documents()[-1]) == (status["code"] == 400)


def _unreadable() -> errors.StatusError:
    error = errors.internal("corrupt object")
    error.plain = errors.not_found(GroupResource("example.com", "widgets"), "a")
    return error


@pytest.mark.parametrize("accept", ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/html"])
@pytest.mark.parametrize("plain", [False, True], ids=["", "plain"])
@pytest.mark.parametrize("error", [errors.too_many_requests("later", 7), _unreadable()], ids=["busy", "unreadable"])
async def test_same_answers_without_audit(exchange: Make, error: errors.StatusError, accept: str, plain: bool) -> None:  # noqa: FBT001
    """Answer refused requests as a server without audit, with the same headers and warnings."""
    auditing = _auditing(Taken())

    async def refuses(request: web.BaseRequest) -> web.StreamResponse:
        request[WARNINGS].append("a warning")
        raise error

    audited, other = exchange(path=WIDGET, headers={"Accept": accept}), exchange(path=WIDGET, headers={"Accept": accept})
    await audited.through(ErrorRendering(AuditInit(Audit(refuses, auditing=auditing, plain=plain))))
    await other.through(ErrorRendering(refuses, plain=plain))

    kept = {name: text for name, text in audited.headers.items() if name not in {"Audit-Id", "Date"}}
    assert (audited.status, audited.body) == (other.status, other.body)
    assert kept == {name: text for name, text in other.headers.items() if name not in {"Audit-Id", "Date"}}
    assert kept["Warning"]


@pytest.mark.parametrize("level", [AuditLevel.METADATA, AuditLevel.REQUEST_RESPONSE])
async def test_failures_leave_no_cycles(exchange: Make, level: AuditLevel) -> None:
    """Free the memory of a request that is refused, cancelled or late without the garbage collector."""
    sink = Taken()

    async def refuses(_request: web.BaseRequest) -> web.StreamResponse:
        raise errors.bad_request("no")

    with collected(BaseException, asyncio.Task) as cyclic:
        await exchange(path=WIDGET).through(_chain(_auditing(sink, level), refuses))
        await exchange(path=f"{WIDGET}?timeout=1ms").through(_chain(_auditing(sink, level), hangs))
        task = asyncio.ensure_future(exchange(path=WIDGET).through(_chain(_auditing(sink, level), hangs)))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        del task

    assert not cyclic


async def test_deadline(exchange: Make) -> None:
    """Record a timeout for a request that exceeds its deadline."""
    sink = Taken()
    done = await exchange(path=f"{WIDGET}?timeout=1ms").through(_chain(_auditing(sink), hangs))

    assert done.status == 504
    assert (_status(sink)["reason"], _status(sink)["code"]) == ("Timeout", 504)


async def test_refused_timeout(exchange: Make) -> None:
    """Record a request with an invalid timeout at one stage."""
    sink = Taken()
    auditing = _auditing(sink)
    deadline = RequestDeadline(hello, maximum=60.0, stats=RequestStats(), refused=auditing.refuse)
    await exchange(path=f"{WIDGET}?timeout=x").through(AuditInit(ErrorRendering(deadline)))
    (event,) = sink.documents()

    assert (event["stage"], event["responseStatus"]["code"], event["user"]) == ("ResponseStarted", 400, {})


async def test_failed_authentication(exchange: Make) -> None:
    """Record a request with an invalid token without a user, at one stage."""
    sink = Taken()
    auditing = _auditing(sink)
    headers = {"Authorization": "Bearer wrong"}
    chain = AuditInit(ErrorRendering(Authentication(hello, anonymous=True, refused=auditing.refuse)))
    done = await exchange(path=WIDGET, headers=headers, user=None).through(chain)
    (event,) = sink.documents()

    assert done.status == 401
    assert (event["stage"], event["responseStatus"]["reason"], event["user"]) == ("ResponseStarted", "Unauthorized", {})


async def test_watches(exchange: Make) -> None:
    """Emit an event at the beginning of a long answer, and at the end of one that has none."""
    sink, other = Taken(), Taken()

    async def streams(request: web.BaseRequest) -> web.StreamResponse:
        stream = ResponseStream()
        await stream.prepare(request)
        assert sink.stages == ["RequestReceived", "ResponseStarted"]
        return stream

    await exchange(path=WATCH).through(_chain(_auditing(sink), streams))
    await exchange(path=WATCH).through(_chain(_auditing(other), failing(errors.bad_request("no"))))

    assert sink.stages == other.stages == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert [event["responseStatus"]["code"] for event in other.documents()[1:]] == [400, 400]


class _Cutting(Taken):
    """Cancels the request that it gets."""

    def process(self, events: Sequence[AuditEvent]) -> Awaitable[bool] | None:
        super().process(events)
        if len(self.events) == 1:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        return self.answer


async def test_disconnected_watch(exchange: Make) -> None:
    """Emit the last event of a watch whose client has gone."""
    sink = _Cutting()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(exchange(path=WATCH).through(_chain(_auditing(sink), hangs)))

    assert sink.stages == ["RequestReceived", "ResponseStarted", "ResponseComplete"]
    assert _status(sink)["message"] == "Connection closed early"


class _NoWorkers:
    """Workers that fail."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def call(self, *_work: object, **_options: object) -> bytes:
        raise self.error


class _OneWorker:
    """Workers that work at once."""

    async def call(self, work: Callable[[bytes], bytes], data: bytes, **_options: object) -> bytes:
        return work(data)


@pytest.mark.parametrize("size", [MAX_INLINE_BYTES, 2 * 1024 * 1024], ids=["large", "huge"])
async def test_stripped_response(exchange: Make, size: int) -> None:
    """Remove managedFields from a response in many parts."""
    sink = Taken()
    settings = AuditSettings(AuditLevel.REQUEST_RESPONSE, omit_managed_fields=True)
    auditing = Auditing(AuditPolicy((AuditRule(settings),)), sink, AuditStats())

    async def large(request: web.BaseRequest) -> web.StreamResponse:
        attached(request).response = (b'{"metadata":{"managedFields":[],"name":"', b"x" * size, b'"}}', b"\n")
        request[WORKERS] = cast("Any", _OneWorker())
        return await hello(request)

    await exchange(path=WIDGET).through(_chain(auditing, large))

    assert sink.documents()[-1]["responseObject"] == {"metadata": {"name": "x" * size}}


@pytest.mark.parametrize("error", [asyncio.CancelledError(), RuntimeError("broken")], ids=["cancelled", "broken"])
async def test_unstripped_response(exchange: Make, error: BaseException) -> None:
    """Record a request without the object of its response if managedFields cannot be removed from that."""
    sink = Taken()
    settings = AuditSettings(AuditLevel.REQUEST_RESPONSE, omit_managed_fields=True)
    auditing = Auditing(AuditPolicy((AuditRule(settings),)), sink, AuditStats())

    async def large(request: web.BaseRequest) -> web.StreamResponse:
        attached(request).response = (b"x" * (MAX_INLINE_BYTES + 1),)
        request[WORKERS] = cast("Any", _NoWorkers(error))
        return await hello(request)

    with suppress(asyncio.CancelledError):
        await exchange(path=WIDGET).through(_chain(auditing, large))

    assert sink.stages == ["RequestReceived", "ResponseComplete"]
    assert _status(sink) == {"metadata": {}, "code": 200}
    assert "responseObject" not in sink.documents()[-1]


async def test_cancelled_arrival(exchange: Make) -> None:
    """Record the end of a request that is cancelled while its arrival is stored."""
    sink = _Cutting(asyncio.get_running_loop().create_future())
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(exchange(path=WIDGET).through(_chain(_auditing(sink))))

    assert sink.stages == ["RequestReceived", "ResponseComplete"]


async def test_rejection(exchange: Make) -> None:
    """Refuse a request whose arrival cannot be stored in mode blocking-strict, and count it."""
    answer = asyncio.get_running_loop().create_future()
    answer.set_result(False)
    auditing = _auditing(Taken(answer))
    done = await exchange(path=WIDGET).through(_chain(auditing))

    assert (done.status, auditing.stats.rejected) == (500, 1)
    assert done.body == f'Internal Server Error: "{WIDGET}": failed to store audit event\n'.encode()


@pytest.mark.parametrize(
    "verdict, annotations",
    [
        (Verdict(Decision.ALLOW, "because"), {"decision": "allow", "reason": "because"}),
        (Verdict(Decision.DENY, "never"), {"decision": "forbid", "reason": "never"}),
        (ReviewError("broken"), {"reason": "internal error"}),
    ],
)
async def test_decisions(exchange: Make, verdict: Verdict | ReviewError, annotations: dict[str, str]) -> None:
    """Record the decision of the authorizer and its reason."""
    sink = Taken()

    async def decide(_user: UserInfo, _info: RequestInfo) -> Verdict:
        if isinstance(verdict, ReviewError):
            raise verdict
        return verdict

    modes = AuthorizationModes(before=(), delegate=decide)
    await exchange(path=WIDGET).through(_chain(_auditing(sink), Authorization(hello, modes=modes, audited=True)))

    assert sink.documents()[-1]["annotations"] == {f"authorization.k8s.io/{key}": text for key, text in annotations.items()}


async def test_impersonation(exchange: Make) -> None:
    """Record the impersonated user, and the mode that allows it."""
    sink = Taken()

    async def decide(_user: UserInfo, _info: RequestInfo) -> Verdict:
        return Verdict(Decision.ALLOW)

    chain = _chain(_auditing(sink), ImpersonationFilter(hello, authorize=decide, audited=True))
    await exchange(path=WIDGET, headers={"Impersonate-User": "eve"}).through(chain)
    first, last = sink.documents()

    assert "impersonatedUser" not in first
    assert last["impersonatedUser"] == {"username": "eve", "groups": ["system:authenticated"]}
    assert last["authenticationMetadata"] == {"impersonationConstraint": "impersonate:user-info"}


async def test_slow_review(exchange: Make) -> None:
    """Show the time of a review that has not ended when the deadline of its request has passed."""
    sink = Taken()

    async def decide(_user: UserInfo, _info: RequestInfo) -> Verdict:
        # as if the review had begun a minute ago
        sink.events[0].context.received -= 60_000_000_000
        await asyncio.Event().wait()
        raise AssertionError

    chain = Authorization(hello, modes=AuthorizationModes(before=(), delegate=decide), audited=True)
    await exchange(path=f"{WIDGET}?timeout=1ms").through(_chain(_auditing(sink), chain))
    notes = sink.documents()[-1]["annotations"]

    assert 0 <= parse_duration(notes["apiserver.latency.k8s.io/authorization"]) <= parse_duration(notes["apiserver.latency.k8s.io/total"])


@pytest.mark.parametrize("path, shown", [("/version", True), (WATCH, False)], ids=["path", "watch"])
async def test_latencies_of_other_requests(exchange: Make, path: str, shown: bool) -> None:  # noqa: FBT001
    """Show the times of a path that is no resource, and none of a watch, which is no slow request."""
    sink = Taken()

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        attached(request).received -= 60_000_000_000
        return await hello(request)

    await exchange(path=path).through(_chain(_auditing(sink), slow))
    notes = sink.documents()[-1].get("annotations", {})

    assert ("apiserver.latency.k8s.io/authentication" in notes, "apiserver.latency.k8s.io/total" in notes) == (shown, shown)


async def test_slow_requests(exchange: Make) -> None:
    """Show where the time of a slow request went."""
    sink = Taken()

    async def decide(_user: UserInfo, _info: RequestInfo) -> Verdict:
        return Verdict(Decision.ALLOW)

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        audit = attached(request)
        audit.received -= 61_500_000_000
        audit.note_deprecation()
        audit.track("apf-queue-wait", 0.0125)
        audit.write_record().latencies["mutating-webhook"] = 0.6
        assert request[INFO].verb == "get"
        return await hello(request)

    modes = AuthorizationModes(before=(), delegate=decide)
    await exchange(path=WIDGET).through(_chain(_auditing(sink), Authorization(slow, modes=modes, audited=True)))
    notes = sink.documents()[-1]["annotations"]
    times = {part: notes.pop(f"apiserver.latency.k8s.io/{part}") for part in ("total", "authentication", "authorization", "response-write")}

    assert parse_duration(times["response-write"]) > 0
    assert parse_duration(times["total"]) >= parse_duration(times["authentication"]) >= 61.5
    assert parse_duration(times["authorization"]) >= 0
    assert notes == {
        "apiserver.latency.k8s.io/apf-queue-wait": "12.5ms",
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "",
        "apiserver.latency.k8s.io/mutating-webhook": "600ms",
        "k8s.io/deprecated": "true",
    }
