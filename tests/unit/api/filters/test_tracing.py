"""OpenTelemetry spans of requests."""

from collections.abc import Sequence

import pytest
from aiohttp import web
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.filters.tracing import Tracing, span_name
from apiext.base.meta import errors
from apiext.base.meta.request import RequestInfo, UserInfo
from tests.unit.api.filters.conftest import ADMIN, Make, hello

BEGUN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = 0x0AF7651916CD43DD8448EB211C80319C


class Spans:
    """Collects finished spans."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test")

    @property
    def ended(self) -> Sequence[ReadableSpan]:
        """Return the spans in the order of their ends."""
        return self._exporter.get_finished_spans()


async def _failing(_request: web.BaseRequest) -> web.StreamResponse:
    return text_reply("no", status=503)


async def _refusing(_request: web.BaseRequest) -> web.StreamResponse:
    raise errors.bad_request("no")


async def _broken(_request: web.BaseRequest) -> web.StreamResponse:
    raise ValueError("a defect")


async def test_creates_a_span(exchange: Make) -> None:
    """Create a span with the request, its Audit-ID and the code."""
    spans = Spans()
    await exchange("/api/v1/namespaces/default/events?limit=1").through(Tracing(hello, tracer=spans.tracer))

    (span,) = spans.ended
    assert (span.name, span.kind) == ("GET /api/v1/namespaces/{:namespace}/events", SpanKind.SERVER)
    assert span.attributes is not None
    assert span.attributes["audit-id"] == "an-id"
    assert span.attributes["http.target"] == "/api/v1/namespaces/default/events?limit=1"
    assert span.attributes["http.response.status_code"] == 200
    assert span.status.is_unset


async def test_marks_server_errors(exchange: Make) -> None:
    """Mark the span of a server error."""
    spans = Spans()
    await exchange().through(Tracing(_failing, tracer=spans.tracer))

    assert not spans.ended[0].status.is_ok


async def test_refusals_are_no_errors(exchange: Make) -> None:
    """Give the span of a refused request its code only, as for an answer with this code."""
    spans = Spans()
    with pytest.raises(errors.StatusError):
        await exchange().through(Tracing(_refusing, tracer=spans.tracer))

    (span,) = spans.ended
    assert span.attributes is not None
    assert (span.attributes["http.response.status_code"], span.status.is_unset, span.events) == (400, True, ())


async def test_records_defects(exchange: Make) -> None:
    """Mark the span of a request that fails by a defect, and record the exception."""
    spans = Spans()
    with pytest.raises(ValueError, match="a defect"):
        await exchange().through(Tracing(_broken, tracer=spans.tracer))

    (span,) = spans.ended
    assert (span.status.description, [event.name for event in span.events]) == ("ValueError: a defect", ["exception"])


@pytest.mark.parametrize("user,continued", [(ADMIN, True), (UserInfo("p", ("system:monitoring",)), True), (UserInfo("ann"), False)])
async def test_continues_traces(exchange: Make, user: UserInfo, *, continued: bool) -> None:
    """Continue the trace of a privileged user; link to that of others."""
    spans = Spans()
    await exchange(user=user, headers={"traceparent": BEGUN}).through(Tracing(hello, tracer=spans.tracer))

    (span,) = spans.ended
    assert span.context is not None
    assert (span.context.trace_id == TRACE) is continued
    assert [link.context.trace_id for link in span.links] == ([] if continued else [TRACE])


@pytest.mark.parametrize(
    "info,name",
    [
        (RequestInfo(path="/version"), "GET"),
        (
            RequestInfo(is_resource=True, api_prefix="apis", group="g", version="v1", resource="r", name="n", subresource="status"),
            "GET /apis/g/v1/r/{:name}/status",
        ),
    ],
)
def test_names_spans(info: RequestInfo, name: str) -> None:
    """Name spans without the names of objects."""
    assert span_name("GET", info) == name
