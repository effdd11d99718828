"""The tracing configuration file."""

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from apiext.server.observability.tracing import open_tracing
from apiext.server.start_error import StartError

KIND = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "TracingConfiguration"}


def _write(folder: Path, content: object) -> Path:
    path = folder / "tracing.yaml"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    "text,endpoint,sampled",
    [
        (json.dumps(KIND | {"endpoint": "collector:4317", "samplingRatePerMillion": 1_000_000}), "collector:4317", True),
        ("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n", "localhost:4317", False),
    ],
)
async def test_reads_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, endpoint: str, *, sampled: bool) -> None:
    """Read the reference's file in JSON or YAML, with the reference's defaults."""
    endpoints: list[str] = []

    class Exporter(InMemorySpanExporter):
        def __init__(self, *, endpoint: str, insecure: bool) -> None:
            super().__init__()
            assert insecure
            endpoints.append(endpoint)

    monkeypatch.setattr("opentelemetry.exporter.otlp.proto.grpc.trace_exporter.OTLPSpanExporter", Exporter)
    path = tmp_path / "tracing.yaml"
    path.write_text(text)
    async with AsyncExitStack() as stack:
        tracer = open_tracing(path, stack)
        assert tracer is not None
        assert tracer.start_span("x").is_recording() is sampled

    assert endpoints == [endpoint]


@pytest.mark.parametrize(
    "content,problem",
    [
        ([], "not of type object"),
        (None, "not of type object"),
        ({**KIND, "endpoint": 1, "samplingRatePerMillion": "1"}, "endpoint: not of type string; samplingRatePerMillion: not of type"),
        ({**KIND, "apiVersion": "v1"}, "apiVersion: 'v1' is not one of ['apiserver.config.k8s.io/v1',"),
        ({**KIND, "x": 1}, "Additional properties are not allowed ('x' was unexpected)"),
        ({**KIND, "endpoint": 1}, "endpoint: not of type string"),
        ({**KIND, "endpoint": ""}, "endpoint: '' should be non-empty"),
        ({**KIND, "samplingRatePerMillion": "1"}, "samplingRatePerMillion: not of type integer"),
        ({**KIND, "samplingRatePerMillion": -1}, "samplingRatePerMillion: -1 is less than the minimum of 0"),
        ({**KIND, "samplingRatePerMillion": 1000001}, "samplingRatePerMillion: 1000001 is greater than the maximum of 1000000"),
    ],
)
async def test_rejects_an_invalid_file(tmp_path: Path, content: object, problem: str) -> None:
    """Refuse to start with a file that does not follow the schema, and name the field."""
    async with AsyncExitStack() as stack:
        with pytest.raises(StartError) as found:
            open_tracing(_write(tmp_path, content), stack)

    assert str(found.value).startswith(f"--tracing-config-file: {tmp_path}/tracing.yaml: ")
    assert problem in str(found.value)
    assert "\n" not in str(found.value)


async def test_rejects_an_unreadable_file(tmp_path: Path) -> None:
    """Refuse to start with a file that is missing or not YAML, and name it."""
    broken = tmp_path / "broken"
    broken.write_text("{")
    async with AsyncExitStack() as stack:
        with pytest.raises(StartError, match="none: No such file or directory"):
            open_tracing(tmp_path / "none", stack)
        with pytest.raises(StartError, match="broken: invalid YAML: while parsing a flow node"):
            open_tracing(broken, stack)


async def test_requires_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the extra to install if OpenTelemetry is missing; without the flag it is not imported."""
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    async with AsyncExitStack() as stack:
        assert open_tracing(None, stack) is None
        with pytest.raises(StartError, match=r"install apiext\[tracing\]"):
            open_tracing(_write(tmp_path, KIND), stack)
