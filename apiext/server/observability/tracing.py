"""Tracing with OpenTelemetry: `--tracing-config-file` (apiserver pkg/server/options/tracing.go, component-base/tracing).

The extra `tracing` installs OpenTelemetry; it is imported only with the flag.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from apiext import __version__
from apiext.base.meta.configuration import ConfigurationError, parse_configuration
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path

    from opentelemetry.trace import Tracer

_COLLECTOR: Final = "localhost:4317"
"""host:port of the OTLP collector, which is called without TLS."""
_MILLION: Final = 1_000_000
"""The unit of `samplingRatePerMillion`, which applies to traces that begin here. A trace that the client sampled is always sampled."""
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["apiVersion", "kind"],
    "properties": {
        "apiVersion": {"enum": [f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")]},
        "kind": {"const": "TracingConfiguration"},
        "endpoint": {"type": "string", "minLength": 1},
        "samplingRatePerMillion": {"type": "integer", "minimum": 0, "maximum": _MILLION},
    },
    "additionalProperties": False,
}


def open_tracing(path: Path | None, stack: AsyncExitStack) -> Tracer | None:
    """Return the tracer that a configuration file sets up, None without a file; `stack` flushes the last spans.

    Raises:
        StartError: the file is invalid, or OpenTelemetry is not installed.
    """
    if path is None:
        return None
    try:
        configuration = parse_configuration(path.read_bytes(), _SCHEMA)
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError as error:
        raise StartError("--tracing-config-file: OpenTelemetry is not installed, install apiext[tracing]") from error
    except ConfigurationError as error:
        raise StartError(f"--tracing-config-file: {path}: {error}") from error
    except OSError as error:
        raise StartError(f"--tracing-config-file: {path}: {error.strerror}") from error
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(configuration.get("samplingRatePerMillion", 0) / _MILLION)),
        resource=Resource({"service.name": "apiserver", "service.version": __version__}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=configuration.get("endpoint", _COLLECTOR), insecure=True)))
    # shutdown blocks until the collector has the last spans
    stack.push_async_callback(asyncio.to_thread, provider.shutdown)
    return provider.get_tracer("apiext", __version__)
