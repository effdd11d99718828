"""Fixtures that tests of every kind may ask for."""

import logging
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from tests.support.builders.seeds import EXPLORING, SEED

# A busy machine is slow, and proves nothing by it. A run proves what the run before it did, unless it is to explore.
settings.register_profile(
    "repeatable", derandomize=not EXPLORING, database=None, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

_LOGGERS: Final = ("", "apiext", "aiohttp.server", "asyncio")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give the plugins that choose at random what to begin with, unless the command line does."""
    if config.getoption("randomly_seed", None) == "default":
        config.option.randomly_seed = SEED
    if EXPLORING and config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = EXPLORING


def pytest_report_header() -> str | None:
    """How to see again what exploring has found."""
    return f"exploring: APIEXT_EXPLORE={EXPLORING}" if EXPLORING else None


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A test that starts the program in its own process leaves logging as it was for the tests after it."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    handlers = list(loggers[0].handlers)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    loggers[0].handlers[:] = handlers


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """An etcd for the whole run; a test keeps to a prefix of its own and leaves the server running."""
    with Etcd(tmp_path_factory.mktemp("etcd"), durable=False) as server:
        yield server


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """The reference, etcd and kube-apiserver, for the whole run; a test that asks for it is `slow`."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), durable=False) as plane:
        yield plane
