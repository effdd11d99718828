"""The times that audit events of slow answers have."""

import pytest
from aiohttp import web

from apiext.api.audit.backend import AuditStats
from apiext.api.audit.levels import AuditLevel
from apiext.api.audit.policy import AuditPolicy, AuditRule, AuditSettings
from apiext.api.authorization.authorizer import Decision, Verdict
from apiext.api.endpoints.request import Handler, attached
from apiext.api.filters.auditing import Audit, Auditing, AuditInit
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.impersonation import ImpersonationFilter
from apiext.base.meta import errors
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.meta.time import parse_duration
from tests.unit.api.audit.events import Taken
from tests.unit.api.filters.conftest import Make, failing, hello

WIDGET = "/apis/example.com/v1/namespaces/default/widgets/a"
POLICY = AuditPolicy((AuditRule(AuditSettings(AuditLevel.METADATA)),))


def _chain(sink: Taken, handler: Handler) -> Handler:
    return AuditInit(ErrorRendering(Audit(handler, auditing=Auditing(POLICY, sink, AuditStats()))))


@pytest.mark.parametrize(
    "path, error, parts",
    [
        ("/apis", None, {"response-write", "serialize-response-object"}),
        ("/version", None, {"response-write"}),
        (WIDGET, errors.bad_request("no"), {"response-write", "serialize-response-object"}),
    ],
    ids=["discovery", "path", "refused"],
)
async def test_slow_answers(exchange: Make, path: str, error: Exception | None, parts: set[str]) -> None:
    """Show how long an answer took to be encoded and written."""
    sink = Taken()

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        attached(request).received -= 60_000_000_000
        return await (hello(request) if error is None else failing(error)(request))

    await exchange(path=path).through(_chain(sink, slow))
    found = {key.removeprefix("apiserver.latency.k8s.io/") for key in sink.documents()[-1]["annotations"]}

    assert found == parts | {"authentication", "total"}


async def test_slow_impersonation(exchange: Make) -> None:
    """Show how long it took to decide that a user may not impersonate."""
    sink = Taken()

    async def refuses(_user: UserInfo, _info: RequestInfo) -> Verdict:
        sink.events[0].context.received -= 60_000_000_000
        return Verdict(Decision.DENY)

    chain = ImpersonationFilter(hello, authorize=refuses, audited=True)
    await exchange(path=WIDGET, headers={"Impersonate-User": "eve"}).through(_chain(sink, chain))

    assert parse_duration(sink.documents()[-1]["annotations"]["apiserver.latency.k8s.io/impersonation"]) > 0
