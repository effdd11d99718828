"""Where spans go: `--tracing-config-file` (apiserver pkg/server/options/tracing.go, component-base/tracing).

OpenTelemetry comes with the extra `tracing` and is loaded only where the file is given.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext import __version__
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from contextlib import AsyncExitStack
    from pathlib import Path

    from opentelemetry.trace import Tracer

_VERSIONS: Final = tuple(f"apiserver.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1"))
_COLLECTOR: Final = "localhost:4317"
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TracingConfiguration:
    """A file's content."""

    endpoint: str
    """The collector, reached without TLS."""
    sampling_rate: int
    """Traces of a million that begin here and are kept; those that clients have begun and sampled are kept anyway."""


def open_tracing(path: Path | None, stack: AsyncExitStack) -> Tracer | None:
    """What opens spans, None without a file; `stack` sends those that are left.

    Raises:
        StartError: the file cannot be used, or OpenTelemetry is not installed.
    """
    if path is None:
        return None
    try:
        configuration = read_configuration(path)
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError as error:
        raise StartError("--tracing-config-file: OpenTelemetry is missing, install apiext[tracing]") from error
    except ValueError as error:
        raise StartError(f"--tracing-config-file: {path}: {error}") from error
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(configuration.sampling_rate / _MILLION)),
        resource=Resource({"service.name": "apiserver", "service.version": __version__}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=configuration.endpoint, insecure=True)))
    # Sending what is left waits for the collector.
    stack.push_async_callback(asyncio.to_thread, provider.shutdown)
    return provider.get_tracer("apiext", __version__)


def read_configuration(path: Path) -> TracingConfiguration:
    """Read a TracingConfiguration in YAML or JSON. Raises ValueError with what is wrong."""
    import yaml

    try:
        found = yaml.safe_load(path.read_bytes())
    except (OSError, yaml.YAMLError) as error:
        raise ValueError(f"unable to read tracing configuration: {error}") from error
    if not isinstance(found, dict) or found.get("kind") != "TracingConfiguration" or found.get("apiVersion") not in _VERSIONS:
        raise ValueError(f"it is no TracingConfiguration of {', '.join(_VERSIONS)}")
    unknown = found.keys() - {"apiVersion", "kind", "endpoint", "samplingRatePerMillion"}
    if unknown:
        raise ValueError(f"unknown field {min(unknown)!r}")
    return TracingConfiguration(_endpoint(found.get("endpoint")), _rate(found.get("samplingRatePerMillion")))


def _endpoint(value: Any) -> str:
    if value is None:
        return _COLLECTOR
    if not isinstance(value, str) or not value:
        raise ValueError("endpoint: must be host:port")
    return value


def _rate(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("samplingRatePerMillion: must be a whole number")  # noqa: TRY004 -- told with the others
    if value < 0:
        raise ValueError("samplingRatePerMillion: sampling rate must be positive")
    if value > _MILLION:
        raise ValueError("samplingRatePerMillion: sampling rate per million must be less than or equal to one million")
    return value
