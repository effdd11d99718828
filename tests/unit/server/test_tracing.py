"""The file that tells where spans go."""

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


def test_configuration(tmp_path: Path) -> None:
    """The reference's file counts; what it leaves out has the reference's defaults."""
    full = _write(tmp_path, KIND | {"endpoint": "collector:4317", "samplingRatePerMillion": 100})
    assert read_configuration(full) == TracingConfiguration("collector:4317", 100)

    assert read_configuration(_write(tmp_path, KIND)) == TracingConfiguration("localhost:4317", 0)


@pytest.mark.parametrize(
    "content,problem",
    [
        ([], "it is no TracingConfiguration of"),
        ({**KIND, "apiVersion": "v1"}, "it is no TracingConfiguration of"),
        ({**KIND, "x": 1}, "unknown field 'x'"),
        ({**KIND, "endpoint": 1}, "endpoint: must be host:port"),
        ({**KIND, "samplingRatePerMillion": "1"}, "samplingRatePerMillion: must be a whole number"),
        ({**KIND, "samplingRatePerMillion": -1}, "samplingRatePerMillion: sampling rate must be positive"),
        ({**KIND, "samplingRatePerMillion": 1000001}, "samplingRatePerMillion: sampling rate per million must be less"),
    ],
)
async def test_problems(tmp_path: Path, content: object, problem: str) -> None:
    """What cannot be used keeps the server from starting."""
    async with AsyncExitStack() as stack:
        with pytest.raises(StartError) as found:
            open_tracing(_write(tmp_path, content), stack)

    assert problem in str(found.value)


async def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OpenTelemetry it is told what to install; without the flag nobody looks for it."""
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    async with AsyncExitStack() as stack:
        assert open_tracing(None, stack) is None
        with pytest.raises(StartError, match=r"install apiext\[tracing\]"):
            open_tracing(_write(tmp_path, KIND), stack)


async def test_spans_are_opened(tmp_path: Path) -> None:
    """With a file there is something that opens spans; nothing is sampled unless it says so."""
    async with AsyncExitStack() as stack:
        tracer = open_tracing(_write(tmp_path, KIND | {"endpoint": "127.0.0.1:1"}), stack)
        assert tracer is not None
        assert not tracer.start_span("x").is_recording()
