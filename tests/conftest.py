"""Configuration and fixtures of all tests."""

import gc
import logging
from collections.abc import Generator, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from hack.lib.changed_files import Latest, latest
from hack.lib.servers.etcd import Etcd
from tests.support import file_groups
from tests.support.builders.seeds import EXPLORING, SEED

# A slow machine must not fail a test: no deadline. Every run generates the same examples unless it explores.
settings.register_profile(
    "repeatable", derandomize=not EXPLORING, database=None, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

_TESTS: Final = Path(__file__).parent
_ORDER: Final = ("differential", "e2e", "conformance", "check", "integration", "contract")
"""Folders of tests, the one with the longest work for one process first."""
_CHECK: Final = _TESTS / "check"
_LONG: Final = "long"
_TURNS: Final = 7
"""Days in which each long test runs once, whatever changes."""
_RUN_BY_CHECK: Final = _TESTS / "unit" / "test_house.py"
_ALLOCATIONS: Final = (20_000, 50, 100)
"""Thresholds of the garbage collector. Those of Python (700, 10, 10) take a tenth more of the processor time of unit tests."""
_LOGGERS: Final = ("", "apiext", "aiohttp.server", "asyncio")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the seeds of pytest-randomly and Hypothesis unless the command line sets them."""
    if config.getoption("randomly_seed", None) == "default":
        config.option.randomly_seed = SEED
    if EXPLORING and config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = EXPLORING


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for long tests."""
    parser.addoption("--long", action="store_true", help="run all tests marked long")


def pytest_report_header() -> str | None:
    """Print the number that repeats an exploring run."""
    return f"exploring: APIEXT_EXPLORE={EXPLORING}" if EXPLORING else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Switch the garbage collector off while pytest collects the tests. Later collections leave the tests out: they are never freed.

    With all tests, that is 700,000 objects: each full collection would take half a second. Tests collect seldom; those that look for
    cycles collect themselves.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_ALLOCATIONS)
        gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let the processes of a whole run share files and groups of files."""
    return file_groups.scheduler(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run groups and long files first, and leave out what runs anyway, or at other times.

    Samples of tests that run completely, the tests that hack/check runs, and long tests whose turn it is not.

    Where several processes share the files, a long file that begins last would leave the other processes idle.
    """
    left_out = _at_other_times(config, items)
    complete = {_function(item) for item in items if item.get_closest_marker("slow") and item not in left_out}
    is_checked = any(item.path.parent == _CHECK for item in items)
    left_out |= {
        item
        for item in items
        if (item.get_closest_marker("sample") and _function(item) in complete) or (is_checked and item.path == _RUN_BY_CHECK)
    }
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = sorted((item for item in items if item not in left_out), key=_turn)


def _at_other_times(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the long tests that a run of all tests leaves out; tests that the command line names run."""
    if config.getoption("--long") or config.args != config.getini("testpaths"):
        return set()
    is_due = cache(partial(_is_due, latest(_TESTS.parent)))
    return {item for item in items if (mark := item.get_closest_marker(_LONG)) and not is_due(item.nodeid, mark.args)}


def _is_due(found: Latest | None, test: str, places: tuple[str, ...]) -> bool:
    """Return whether the latest commits changed what a long test is about, or it is its turn."""
    if found is None:
        return False
    return crc32(test.encode()) % _TURNS == found.day % _TURNS or found.below(test.partition("::")[0], *places)


def _turn(item: pytest.Item) -> tuple[bool, int, str]:
    """Return whether no other file uses a test's servers, the place of its folder in `_ORDER`, else the last one, and the folder itself.

    A folder's servers stop after its last test: the next folder has the processors for its own.
    """
    folder = item.nodeid.split("/", 2)[1]
    alone = not file_groups.group(item.path)
    return alone, _ORDER.index(folder) if folder in _ORDER else len(_ORDER), str(item.path.parent)


def _function(item: pytest.Item) -> str:
    """Return the node id of a test function, without its parameters."""
    return item.nodeid.partition("[")[0]


@pytest.fixture(autouse=True)
def restored_process() -> Iterator[None]:
    """Restore the loggers and the garbage collector after a test: some tests run the program in the process of the tests."""
    collects = gc.isenabled()
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    handlers = list(loggers[0].handlers)
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
    loggers[0].handlers[:] = handlers
    if collects:
        gc.enable()


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """Start an etcd for all tests of this process; a test uses its own prefix and does not stop it."""
    with Etcd(tmp_path_factory.mktemp("etcd"), durable=False) as server:
        yield server
