"""Requests with hostile paths and headers: their events are JSON, whichever way they are made."""

import asyncio
import json
from typing import Any, Final

from aiohttp import web
from hypothesis import example, given
from hypothesis import strategies as st

from apiext.api.audit.backend import AuditStats
from apiext.api.audit.event import event_list
from apiext.api.audit.levels import AuditLevel, AuditMode
from apiext.api.audit.log.modes import BlockingLog
from apiext.api.audit.log.writer import LogWriter
from apiext.api.audit.policy import AuditPolicy, AuditRule, AuditSettings
from apiext.api.endpoints.request import INFO
from apiext.api.filters.auditing import Audit, Auditing, AuditInit
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.request_info import RequestInfoError
from apiext.base.meta import errors
from apiext.base.meta.request import UserInfo
from tests.unit.api.audit.events import Taken
from tests.unit.api.audit.log.outputs import Output
from tests.unit.api.audit.plain_events import plain
from tests.unit.api.filters.conftest import Exchange, hello

_SEGMENTS: Final = st.one_of(
    st.sampled_from(["", "", "api", "apis", "v1", "namespaces", "default", "status", "watch", "proxy", "example.com", "widgets", "a"]),
    st.sampled_from(["%22", "%5c", "%0A", "%00", "%ff", "%2F", '"', "\\", "{,", "\udcff", "é", ".", "..", "a b"]),
)
_PATHS: Final = st.tuples(st.sampled_from(["/api/v1", "/apis/a/b", "/api", "/apis", "/x"]), st.lists(_SEGMENTS, max_size=6)).map(
    lambda parts: "/".join([parts[0], *parts[1]])
)
_QUERIES: Final = st.sampled_from(["", "", "", "?", "?watch=1", "?fieldSelector=metadata.name%3D%22", "?a=\udcff", '?"=\\'])
_VALUES: Final = st.text(st.sampled_from('a"\\{},<\u00e9\u2028\udcff\udc80\t'), max_size=6)


class _Header(str):
    """The value of a header with bytes that are not UTF-8: the mocked request encodes it."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", _errors: str = "strict") -> bytes:
        return super().encode(encoding, "surrogateescape")


_HEADERS: Final = st.fixed_dictionaries(
    {"Audit-ID": _VALUES.map(lambda text: _Header(f"x{text}"))},
    optional={name: _VALUES.map(_Header) for name in ("User-Agent", "X-Forwarded-For", "X-Real-Ip")},
)
_USERS: Final = st.builds(
    UserInfo, _VALUES, st.lists(_VALUES, max_size=2).map(tuple), extra=st.dictionaries(_VALUES, st.just(("é\udcff",)))
)
_METHODS: Final = st.sampled_from(["GET", "GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"])


async def _refuses(_request: web.BaseRequest) -> web.StreamResponse:
    raise errors.bad_request('no "\\ \udcff')


async def _recorded(done: Exchange, level: AuditLevel, *, refused: bool) -> tuple[list[Any], Taken]:
    """Return the events of a request in the log, and what a sink takes of it."""
    policy = AuditPolicy((AuditRule(AuditSettings(level)),))
    output, sink = Output(), Taken()
    writer = LogWriter(output, AuditStats())
    backend = BlockingLog(writer, AuditMode.BLOCKING)
    for auditing in (
        Auditing(policy, backend, AuditStats(), log=writer),
        Auditing(policy, sink, AuditStats()),
    ):
        handler = _refuses if refused else hello
        await AuditInit(ErrorRendering(Audit(handler, auditing=auditing)))(done.request)
    await backend.close()
    return [json.loads(line) for line in output.data.split(b"\n")[:-1]], sink


def _timeless(documents: list[Any]) -> list[Any]:
    return [{key: value for key, value in document.items() if not key.endswith("Timestamp")} for document in documents]


@given(_METHODS, _PATHS, _QUERIES, _HEADERS, _USERS, st.sampled_from([AuditLevel.METADATA, AuditLevel.REQUEST_RESPONSE]), st.booleans())
@example("GET", "/api/v1//namespaces", "", {"Audit-ID": "x"}, UserInfo("ann"), AuditLevel.METADATA, False)
@example("GET", "/apis/a/b//c/d", "", {"Audit-ID": "x"}, UserInfo("ann"), AuditLevel.METADATA, False)
@example("GET", "/api///a", "", {"Audit-ID": "x"}, UserInfo("ann"), AuditLevel.METADATA, False)
def test_events(method: str, path: str, query: str, headers: dict[str, str], user: UserInfo, level: AuditLevel, refused: bool) -> None:  # noqa: FBT001
    """Write the same JSON to the log, to a sink and to a list, and what a dict of the same facts says."""
    try:
        done = Exchange(method, path + query, headers, user=user, peer=None)
    except RequestInfoError:
        return
    logged, sink = asyncio.run(_recorded(done, level, refused=refused))
    expected = [plain(event) for event in sink.events]

    assert sink.documents() == expected
    assert _timeless(logged) == _timeless(expected)
    assert json.loads(event_list(sink.events))["items"] == [
        {k: v for k, v in one.items() if k not in {"kind", "apiVersion"}} for one in expected
    ]
    assert done.request[INFO] is sink.events[0].context.info
