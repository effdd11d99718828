"""Reads that are audited without an audit context."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from aiohttp import web

from apiext.api.audit.backend import AuditStats
from apiext.api.audit.levels import AuditLevel, AuditMode, AuditStage
from apiext.api.audit.log.modes import BlockingLog
from apiext.api.audit.log.writer import LogWriter
from apiext.api.audit.policy import AuditPolicy, AuditRule, AuditSettings
from apiext.api.authorization import authorizer
from apiext.api.authorization.authorizer import AuthorizationModes, Decision, ReviewError, Verdict
from apiext.api.endpoints.request import AUDIT, INFO, Handler, attached, audit_of
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.filters.auditing import Audit, Auditing, AuditInit, UsualReads
from apiext.api.filters.authorization import Authorization
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.impersonation import ImpersonationFilter
from apiext.api.filters.metrics import RequestStats
from apiext.api.filters.request_deadline import RequestDeadline
from apiext.base.meta import errors
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.storage.store_times import STORE_TIMES
from tests.support.event_loop import settle, until
from tests.support.garbage import collected
from tests.unit.api.audit.events import Taken
from tests.unit.api.audit.log.outputs import Output
from tests.unit.api.filters.conftest import Exchange, Make, failing, hangs, hello

WIDGET = "/apis/example.com/v1/namespaces/default/widgets/a"
POLICY = AuditPolicy((AuditRule(AuditSettings(AuditLevel.METADATA)),))


class _Log:
    """A log in memory, whose writer gets the lines of usual reads."""

    def __init__(self, policy: AuditPolicy = POLICY) -> None:
        self.output, self.stats = Output(), AuditStats()
        self.writer = LogWriter(self.output, self.stats)
        self.backend = BlockingLog(self.writer, AuditMode.BLOCKING)
        self.auditing = Auditing(policy, self.backend, self.stats, log=self.writer)

    def documents(self) -> list[Any]:
        """Return the events that are written."""
        return [json.loads(line) for line in self.output.data.splitlines()]


def _chain(auditing: Auditing, handler: Handler) -> Handler:
    return AuditInit(ErrorRendering(RequestDeadline(Audit(handler, auditing=auditing), maximum=60.0, stats=RequestStats())))


def _comparable(documents: list[Any]) -> list[Any]:
    """Return events without times and what latencies are annotated, but with their keys."""
    for document in documents:
        for key in ("requestReceivedTimestamp", "stageTimestamp"):
            del document[key]
        notes = document.get("annotations", {})
        document["annotations"] = {key: "" if "latency" in key else text for key, text in notes.items()}
    return documents


def _authorized(verdict: Verdict | ReviewError, *, here: bool = False) -> Handler:
    async def review(_user: UserInfo, _info: RequestInfo) -> Verdict:
        if isinstance(verdict, ReviewError):
            raise verdict
        return verdict

    if here:
        assert isinstance(verdict, Verdict)
        return Authorization(hello, modes=AuthorizationModes(before=[lambda *_: verdict]), audited=True)
    return Authorization(hello, modes=AuthorizationModes(before=(), delegate=review), audited=True)


async def _impersonating(request: web.BaseRequest) -> web.StreamResponse:
    async def decide(_user: UserInfo, _info: RequestInfo) -> Verdict:
        return Verdict(Decision.ALLOW)

    return await ImpersonationFilter(hello, authorize=decide, audited=True)(request)


async def _not_served(_request: web.BaseRequest) -> web.StreamResponse:
    return text_reply("404 page not found", status=404)


async def _deprecated(request: web.BaseRequest) -> web.StreamResponse:
    attached(request).note_deprecation()
    return await hello(request)


async def _converted(request: web.BaseRequest) -> web.StreamResponse:
    attached(request).measure_store()
    return await hello(request)


async def _slow(request: web.BaseRequest) -> web.StreamResponse:
    attached(request).received -= 60_000_000_000
    return await hello(request)


HANDLERS: dict[str, Handler] = {
    "usual": hello,
    "not served": _not_served,
    "missing": failing(errors.bad_request("no")),
    "too large": failing(web.HTTPRequestEntityTooLarge(1, 2)),
    "defect": failing(ZeroDivisionError("defect")),
    "gone": failing(ConnectionResetError()),
    "deprecated": _deprecated,
    "converted": _converted,
    "slow": _slow,
    "impersonated": _impersonating,
    "master": _authorized(authorizer.ALLOWED, here=True),
    "allowed": _authorized(Verdict(Decision.ALLOW, "RBAC: allowed"), here=True),
    "denied": _authorized(Verdict(Decision.DENY, "never"), here=True),
    "reviewed": _authorized(Verdict(Decision.ALLOW, "because")),
    "not reviewed": _authorized(ReviewError("broken")),
}
HEADERS: dict[str, dict[str, str]] = {
    "usual": {},
    "own id": {"Audit-Id": 'a"b', "User-Agent": "x" * 1025},
    "proxied": {"X-Forwarded-For": "10.0.0.1", "X-Real-Ip": "10.0.0.2", "Impersonate-User": "eve"},
}


async def _exchanged(done: Exchange, chain: Handler) -> Exchange:
    with suppress(ZeroDivisionError, ConnectionResetError):
        await done.through(chain)
    return done


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
@pytest.mark.parametrize("path", [WIDGET, "/version", f"{WIDGET}?pretty=1", "/apis/example.com/v1/widgets"])
async def test_same_events(exchange: Make, handler: Handler, headers: dict[str, str], path: str) -> None:
    """Write the same events as of other requests, with the same answer and the same counts, also for the second one."""
    log, sink, stats = _Log(), Taken(), AuditStats()
    given = {"Audit-Id": "an-id", **headers}
    for _ in range(2):
        done = await _exchanged(exchange(path=path, headers=given), _chain(log.auditing, handler))
        other = await _exchanged(exchange(path=path, headers=given), _chain(Auditing(POLICY, sink, stats), handler))
        if done.response is not None:
            assert (done.status, done.body) == (other.status, other.body)
    await log.backend.close()

    assert _comparable(log.documents()) == _comparable(sink.documents())
    assert (log.stats.events, log.stats.levels, log.stats.errors) == (stats.events, stats.levels, stats.errors)


async def test_requests_of_a_connection(exchange: Make) -> None:
    """Tell the user, the client and the URI of each request, also if others of the connection have had the same path."""
    log, known, info = _Log(), None, exchange(path=WIDGET).request[INFO]
    asked = [
        (user, agent, address, path)
        for _ in range(2)
        for user in ("ann", "eve")
        for agent in ("a/1", "b/1")
        for address in ("10.0.0.1", "10.0.0.2")
        for path in (WIDGET, f"{WIDGET}/")
    ]
    users = {name: UserInfo(name) for name in ("ann", "eve")}
    for user, agent, address, path in asked:
        for headers in ({}, {"X-Forwarded-For": address}):
            done = exchange(path=path, headers={"User-Agent": agent, **headers}, user=users[user])
            connection = cast("Any", done.request.protocol)
            connection.audit_client, done.request[INFO] = known, info
            await done.through(_chain(log.auditing, hello))
            known = connection.audit_client
    await log.backend.close()
    documents = log.documents()
    found = [(one["user"]["username"], one["userAgent"], one.get("sourceIPs", [""])[0], one["requestURI"]) for one in documents[2::4]]
    direct = {(one["user"]["username"], one["userAgent"], one["requestURI"]) for one in documents[::4]}

    assert found == asked
    assert direct == {(user, agent, path) for user, agent, _, path in asked}
    assert not any(one.get("sourceIPs", [""])[0].startswith("10.") for one in documents[::4])


async def test_long_paths(exchange: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the lines of reads with long paths as soon as they are large, so that few of them are kept."""
    monkeypatch.setattr("apiext.api.audit.log.writer.LINGER_SECONDS", 3600.0)
    log = _Log()
    path = f"{WIDGET}/{'x' * 100_000}"
    for _ in range(7):
        await exchange(path=path).through(_chain(log.auditing, hello))
    await until(lambda: log.output.data)
    await log.backend.close()

    assert [one["requestURI"] for one in log.documents()] == [path] * 14


async def test_deadline(exchange: Make) -> None:
    """Write the same events as of other requests if a read exceeds its deadline."""
    log, sink = _Log(), Taken()
    for auditing in (log.auditing, Auditing(POLICY, sink, AuditStats())):
        deadline = RequestDeadline(Audit(hangs, auditing=auditing), maximum=0.001, stats=RequestStats())
        done = await exchange(path=WIDGET, headers={"Audit-Id": "an-id"}).through(AuditInit(ErrorRendering(deadline)))
        assert done.status == 504
    await log.backend.close()

    assert _comparable(log.documents()) == _comparable(sink.documents())


async def test_measured_read(exchange: Make) -> None:
    """Count the waits of a read for the store if it waits for a conversion, too; the connection's next one measures nothing."""
    log = _Log()

    async def converts(request: web.BaseRequest) -> web.StreamResponse:
        audit = attached(request)
        audit.measure_store()
        audit.received -= 60_000_000_000
        audit.authorized -= 60_000_000_000
        times = STORE_TIMES.get()
        assert times is not None
        times.reads += 0.25
        return await hello(request)

    authorized = Authorization(converts, modes=AuthorizationModes(before=[lambda *_: authorizer.ALLOWED]), audited=True)
    await exchange(path=WIDGET).through(_chain(log.auditing, authorized))
    assert STORE_TIMES.get() is None
    await log.backend.close()

    assert log.documents()[-1]["annotations"]["apiserver.latency.k8s.io/etcd"] == "250ms"


async def test_long_read(exchange: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the arrival of a read that takes long before its end, and then what it waited for."""
    monkeypatch.setattr("apiext.api.audit.latencies.SLOW", 0)
    log, go_on = _Log(), asyncio.Event()

    async def waits(request: web.BaseRequest) -> web.StreamResponse:
        await go_on.wait()
        audit = audit_of(request)
        assert audit is not None
        audit.forming = audit.encoding = audit.authorized + 1
        return await hello(request)

    chain = _chain(log.auditing, Authorization(waits, modes=AuthorizationModes(before=[lambda *_: authorizer.ALLOWED]), audited=True))
    task = asyncio.create_task(exchange(path=WIDGET).through(chain))
    await until(lambda: [event["stage"] for event in log.documents()] == ["RequestReceived"])
    go_on.set()
    await task
    await log.backend.close()
    _, last = log.documents()
    parts = {key.removeprefix("apiserver.latency.k8s.io/") for key in last["annotations"] if "latency" in key}

    assert last["stage"] == "ResponseComplete"
    assert parts >= {"authentication", "authorization", "etcd", "total"}
    assert log.stats.events == 2


async def test_clock_that_is_set_back(exchange: Make) -> None:
    """Write the arrival of a read that takes long although the clock is set back meanwhile."""
    log, go_on = _Log(), asyncio.Event()

    async def waits(request: web.BaseRequest) -> web.StreamResponse:
        await go_on.wait()
        return await hello(request)

    later = time.time_ns() + 3_600_000_000_000
    with pytest.MonkeyPatch.context() as clock:
        clock.setattr("apiext.api.filters.auditing.time.time_ns", lambda: later)
        task = asyncio.create_task(exchange(path=WIDGET).through(_chain(log.auditing, waits)))
        await asyncio.sleep(0)
    await until(lambda: [event["stage"] for event in log.documents()] == ["RequestReceived"])
    go_on.set()
    await task
    await log.backend.close()

    assert [event["stage"] for event in log.documents()] == ["RequestReceived", "ResponseComplete"]


async def test_end_of_the_log(exchange: Make) -> None:
    """Write the arrivals of reads that run when the log is closed, and count the events that come later as lost."""
    log, go_on = _Log(), asyncio.Event()

    async def waits(request: web.BaseRequest) -> web.StreamResponse:
        await go_on.wait()
        return await hello(request)

    task = asyncio.create_task(exchange(path=WIDGET).through(_chain(log.auditing, waits)))
    await asyncio.sleep(0)
    await log.backend.close()
    go_on.set()
    await task
    await exchange(path=WIDGET).through(_chain(log.auditing, hello))

    assert [event["stage"] for event in log.documents()] == ["RequestReceived"]
    assert log.stats.errors == {"log": 3}


async def test_after_the_end(exchange: Make) -> None:
    """Leave what a filter records after the end of a read out of its events."""
    log = _Log()
    done = await exchange(path=WIDGET).through(_chain(log.auditing, hello))
    attached(done.request).take_status(errors.bad_request("too late").status())
    await log.backend.close()

    assert log.documents()[-1]["responseStatus"] == {"metadata": {}, "code": 200}


async def test_log_that_is_behind(exchange: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reads wait while the output is far behind."""
    monkeypatch.setattr("apiext.api.audit.log.writer.BACKLOG", 1)
    log = _Log()
    log.output.free.clear()
    chain = _chain(log.auditing, hello)
    await exchange(path=WIDGET).through(chain)
    await until(lambda: log.writer.is_behind)
    waiting = asyncio.create_task(exchange(path=WIDGET).through(chain))
    await settle()
    assert not waiting.done()
    log.output.free.set()
    await waiting
    await log.backend.close()

    assert len(log.documents()) == 4


OTHERS: dict[str, Callable[[], AuditSettings]] = {
    "None": lambda: AuditSettings(AuditLevel.NONE),
    "Request": lambda: AuditSettings(AuditLevel.REQUEST),
    "without a stage": lambda: AuditSettings(AuditLevel.METADATA, frozenset({AuditStage.REQUEST_RECEIVED})),
}


@pytest.mark.parametrize("settings", OTHERS.values(), ids=OTHERS)
async def test_other_settings(exchange: Make, settings: Callable[[], AuditSettings]) -> None:
    """Give a context, or none, to reads for which the policy has other settings."""
    log = _Log(AuditPolicy((AuditRule(settings()),)))

    async def looks(request: web.BaseRequest) -> web.StreamResponse:
        assert not isinstance(request.get(AUDIT), UsualReads)
        return await hello(request)

    done = await exchange(path=WIDGET).through(_chain(log.auditing, looks))
    await log.backend.close()
    assert done.status == 200


async def test_ended_reads_leave_no_cycles(exchange: Make) -> None:
    """Free the memory of a read that is refused, cancelled or late without the garbage collector."""
    log = _Log()

    async def refuses(_request: web.BaseRequest) -> web.StreamResponse:
        raise errors.bad_request("no")

    with collected(BaseException, asyncio.Task) as cyclic:
        await exchange(path=WIDGET).through(_chain(log.auditing, refuses))
        task = asyncio.ensure_future(exchange(path=WIDGET).through(_chain(log.auditing, hangs)))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        del task
    await log.backend.close()

    assert not cyclic
