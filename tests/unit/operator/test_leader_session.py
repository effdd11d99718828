"""The work of the leader: the verification of the watched state."""

import pytest

from apiext.cli.operate import operate
from apiext.operator.api_clients import API_SERVICES, CRDS
from apiext.operator.ca_bundle import CABundleSource
from apiext.operator.checks.sequence import Diagnosis
from apiext.operator.leader_session import LeaderSession
from apiext.operator.options import read_options
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.statistics import OperatorStatistics
from apiext.operator.watched_state import WatchedState
from tests.support.servers.memory_api import MemoryApi
from tests.unit.operator.parts import GROUP, SELECTOR, api_service, crd


class Session:
    """A leader session whose state equals its host; counts the requested restarts of the watch."""

    def __init__(self) -> None:
        self.host = MemoryApi()
        self.state = WatchedState(SELECTOR, lambda _: None)
        self.restarts = 0
        options = read_options(operate.make_context("operate", ["--service=a/b"]).params)
        recorder = EventRecorder(self.host, instance="i")
        self.state.crds.update(self.host.put_in(f"{CRDS}/widgets.{GROUP}", crd()))
        self.state.api_services.update(self.host.put_in(f"{API_SERVICES}/v1.{GROUP}", api_service()))
        self._session = LeaderSession(
            options, self.host, CABundleSource(), recorder, Diagnosis(options), self.state, OperatorStatistics(), self._restart
        )

    async def verify(self) -> int:
        """Verify the state; return the number of requested restarts."""
        await self._session.verify_watch()
        return self.restarts

    def _restart(self) -> None:
        self.restarts += 1


@pytest.fixture
async def session() -> Session:
    """Provide a session."""
    return Session()


async def test_accepts_an_equal_state(session: Session) -> None:
    """Request no restart of the watch if the state equals the host, or the host does not respond."""
    assert await session.verify() == 0

    session.host.down = True
    assert await session.verify() == 0


async def test_restarts_the_watch_after_a_missed_deletion(session: Session) -> None:
    """Request a restart if the host has fewer objects than the state."""
    del session.host.objects[f"{API_SERVICES}/v1.{GROUP}"]

    assert await session.verify() == 1


async def test_restarts_the_watch_after_a_restore(session: Session) -> None:
    """Request a restart if the host's resourceVersion is lower than those of the state."""
    session.host.revision = 3

    assert await session.verify() == 1
