"""The controller of the status of Conversion objects."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiext.resources.conversion.rules.reporting.status import RulesUsage
from apiext.resources.conversion.rules.reporting.status_controller import ConversionStatusController
from tests.support.builders.related_versions import INTEGER, NAME, conversion, crd_of_specs, obj


class _Backend:
    """A cluster in memory (implements StatusBackend)."""

    retryable: tuple[type[Exception], ...] = (OSError,)

    def __init__(self) -> None:
        self.crd: dict[str, Any] | None = crd_of_specs(v1=obj(size=INTEGER), v2=obj(size=INTEGER))
        self.failures = 0
        self.written: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()

    async def definition(self, name: str) -> dict[str, Any] | None:
        return self.crd if name == NAME else None

    async def write_status(self, name: str, status: dict[str, Any]) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("refused")
        self.written.put_nowait((name, status))

    def usage(self, name: str) -> RulesUsage:
        return RulesUsage(is_used=True, reason="Converting", message=name)


@pytest.fixture
def backend() -> _Backend:
    """Return a cluster with the CRD of widgets."""
    return _Backend()


@pytest.fixture
async def controller(backend: _Backend) -> AsyncIterator[ConversionStatusController]:
    """Run a controller."""
    running = ConversionStatusController(backend)
    yield running
    await running.close()


async def _valid(backend: _Backend) -> str:
    _, status = await asyncio.wait_for(backend.written.get(), 10)
    valid: str = status["conditions"][0]["status"]
    return valid


async def test_writes_the_status_of_each_object(backend: _Backend, controller: ConversionStatusController) -> None:
    """Check an object as soon as it is known."""
    controller.put(conversion())

    assert await _valid(backend) == "True"


async def test_checks_again_after_a_change_of_the_crd(backend: _Backend, controller: ConversionStatusController) -> None:
    """Report rules that do not fit any more."""
    controller.put(conversion())
    assert await _valid(backend) == "True"

    backend.crd = None
    controller.definition_changed(NAME)

    assert await _valid(backend) == "Unknown"


async def test_retries_writes(backend: _Backend, controller: ConversionStatusController) -> None:
    """Write again after an error that may pass."""
    backend.failures = 1
    controller.put(conversion())

    assert await _valid(backend) == "True"


async def test_equal_statuses_are_not_written(backend: _Backend, controller: ConversionStatusController) -> None:
    """Leave out writes that change nothing: they would come back as changes for ever."""
    controller.put(conversion())
    _, status = await asyncio.wait_for(backend.written.get(), 10)
    controller.put(conversion() | {"status": status})
    controller.put(conversion() | {"metadata": {"name": "gadgets.example.com", "generation": 1}})

    name, _ = await asyncio.wait_for(backend.written.get(), 10)
    assert name == "gadgets.example.com"


async def test_deleted_objects_are_forgotten(backend: _Backend, controller: ConversionStatusController) -> None:
    """Write no status of an object that is gone."""
    controller.put(conversion())
    controller.remove(NAME)
    controller.put(conversion() | {"metadata": {"name": "gadgets.example.com", "generation": 1}})

    name, _ = await asyncio.wait_for(backend.written.get(), 10)
    assert name == "gadgets.example.com"
