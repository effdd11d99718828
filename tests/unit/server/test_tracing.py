"""The tracing configuration file."""

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from apiext.server.start_error import StartError
from apiext.server.tracing import TracingConfiguration, open_tracing, read_configuration

KIND = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "TracingConfiguration"}


def _write(folder: Path, content: object) -> Path:
    path = folder / "tracing.yaml"
    path.write_text(json.dumps(content))
    return path


def test_reads_the_configuration(tmp_path: Path) -> None:
    """Read the reference's file, with the reference's defaults."""
    full = _write(tmp_path, KIND | {"endpoint": "collector:4317", "samplingRatePerMillion": 100})
    assert read_configuration(full) == TracingConfiguration("collector:4317", 100)

    assert read_configuration(_write(tmp_path, KIND)) == TracingConfiguration("localhost:4317", 0)


@pytest.mark.parametrize(
    "content,problem",
    [
        ([], "[] is not of type 'object'"),
        ({**KIND, "apiVersion": "v1"}, "apiVersion: 'v1' is not one of ['apiserver.config.k8s.io/v1',"),
        ({**KIND, "x": 1}, "Additional properties are not allowed ('x' was unexpected)"),
        ({**KIND, "endpoint": 1}, "endpoint: 1 is not of type 'string'"),
        ({**KIND, "endpoint": ""}, "endpoint: '' should be non-empty"),
        ({**KIND, "samplingRatePerMillion": "1"}, "samplingRatePerMillion: '1' is not of type 'integer'"),
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


async def test_requires_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the extra to install if OpenTelemetry is missing; without the flag it is not imported."""
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    async with AsyncExitStack() as stack:
        assert open_tracing(None, stack) is None
        with pytest.raises(StartError, match=r"install apiext\[tracing\]"):
            open_tracing(_write(tmp_path, KIND), stack)


async def test_opens_a_tracer(tmp_path: Path) -> None:
    """Return a tracer that samples nothing by default."""
    async with AsyncExitStack() as stack:
        tracer = open_tracing(_write(tmp_path, KIND | {"endpoint": "127.0.0.1:1"}), stack)
        assert tracer is not None
        assert not tracer.start_span("x").is_recording()
