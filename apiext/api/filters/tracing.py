"""OpenTelemetry spans of requests (apiserver pkg/endpoints/filters/traces.go); imported only if tracing is enabled."""

from __future__ import annotations

from typing import Final

from aiohttp import web
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, get_current_span, use_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from apiext.api.endpoints.request import HEADERS, INFO, USER, Handler
from apiext.api.filters.headers import HEADER
from apiext.base.meta import errors
from apiext.base.meta.request import MASTERS, RequestInfo

_MONITORING: Final = "system:monitoring"
_PRIVILEGED: Final = frozenset({MASTERS, _MONITORING})
_LONGEST: Final = 64
"""Maximum of characters of an Audit-ID: clients may choose it."""


class Tracing:
    """Opens a span for each request, around the filters behind it.

    The span continues the trace of a privileged client. It only links to the trace of any other client, which must not control sampling.
    """

    def __init__(self, handler: Handler, *, tracer: Tracer) -> None:
        self._handler = handler
        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the handler's answer. Raises what the handler raises."""
        parent = self._propagator.extract(request.headers, Context())
        links = []
        if _PRIVILEGED.isdisjoint(request[USER].groups):
            begun = get_current_span(parent).get_span_context()
            links = [Link(begun)] if begun.is_valid else []
            parent = Context()
        attributes = {
            "http.request.method": request.method,
            "url.path": request.path,
            "http.target": request.raw_path,
            "user_agent.original": request.headers.get("User-Agent", ""),
            "audit-id": request[HEADERS][HEADER][:_LONGEST],
        }
        name = span_name(request.method, request[INFO])
        span = self._tracer.start_span(name, parent, SpanKind.SERVER, attributes, links)
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                response = await self._handler(request)
            except errors.StatusError as error:
                # an answer, which an earlier filter renders
                _answered(span, error.code)
                raise
            except Exception as error:
                span.record_exception(error)
                span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
                raise
            _answered(span, response.status)
            return response


def _answered(span: Span, code: int) -> None:
    span.set_attribute("http.response.status_code", code)
    if code >= 500:
        span.set_status(Status(StatusCode.ERROR))


def span_name(method: str, info: RequestInfo) -> str:
    """Return the method and the path with placeholders, which bounds the number of span names."""
    if not info.is_resource:
        return method
    parts = ["", info.api_prefix, info.group, info.version]
    parts += ["namespaces", "{:namespace}"] if info.namespace else []
    parts += [info.resource, "{:name}" if info.name else "", info.subresource]
    return f"{method} /" + "/".join(part for part in parts if part)
