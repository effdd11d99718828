"""The endpoints of the operator."""

import re
from collections.abc import AsyncIterator

import pytest

from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.base.webhook.transport import open_session
from apiext.operator.options import BindAddress
from apiext.operator.probes.listener import OperatorRouter, status_endpoints
from apiext.operator.statistics import OperatorStatistics
from apiext.server.start_error import StartError
from tests.support.servers.handler_server import Client, client_of


class Status:
    """An operator (operator.status.OperatorStatus)."""

    def __init__(self) -> None:
        self.statistics = OperatorStatistics()
        self.is_synced = False
        self.knows_leader = False
        self.is_leader = False
        self.reasons: dict[str, str] = {}

    def condition_reasons(self) -> dict[str, str]:
        """See OperatorStatus.condition_reasons."""
        return self.reasons


@pytest.fixture
def status() -> Status:
    """Provide the status of an operator that has just started."""
    return Status()


@pytest.fixture
async def client(status: Status) -> AsyncIterator[Client]:
    """Provide a client of the endpoints."""
    async with client_of(OperatorRouter(status)) as opened:
        yield opened


async def _get(client: Client, path: str) -> tuple[int, str]:
    answer = await client.get(path)
    return answer.status, (await answer.text()).strip()


async def _value(client: Client, series: str) -> float:
    found = re.search(rf"^{re.escape(series)} (\S+)$", (await _get(client, "/metrics"))[1], re.MULTILINE)
    assert found, series
    return float(found[1])


async def test_readiness(client: Client, status: Status) -> None:
    """Become ready when the host is listed and the leader is known; be alive from the start."""
    assert (await _get(client, "/healthz"))[0] == (await _get(client, "/livez"))[0] == 200
    assert (await _get(client, "/readyz"))[0] == 500
    assert await _get(client, "/readyz/informer-sync") == (
        500,
        "internal server error: the host's definitions and APIServices are not listed yet",
    )
    status.is_synced = True
    assert await _get(client, "/readyz/leader-election") == (500, "internal server error: the lease was not read yet")
    status.knows_leader = True

    assert (await _get(client, "/readyz"))[0] == 200
    assert (await _get(client, "/apis"))[0] == 404


async def test_metrics(client: Client, status: Status) -> None:
    """Count reconciliations by result, events by reason and sessions, and show leadership and conditions."""
    statistics = status.statistics
    with statistics.session(), statistics.reconciliation():
        statistics.event("Registered")
    with pytest.raises(OSError, match="away"), statistics.session(), statistics.reconciliation():
        raise OSError("away")
    status.is_leader = True
    status.reasons = {"widgets.example.com": "Serving"}

    assert await _value(client, 'apiext_operator_reconcile_duration_seconds_count{result="success"}') == 1
    assert await _value(client, 'apiext_operator_reconcile_duration_seconds_count{result="error"}') == 1
    assert await _value(client, 'apiext_operator_events_total{reason="Registered"}') == 1
    assert await _value(client, "apiext_operator_sessions_total") == 2
    assert await _value(client, "apiext_operator_session_failures_total") == 1
    assert await _value(client, 'leader_election_master_status{name="apiext-operator"}') == 1
    assert await _value(client, 'apiext_operator_definition_condition{crd_name="widgets.example.com",reason="Serving"}') == 1
    assert await _value(client, "process_start_time_seconds") > 0


async def test_listens_without_tls(status: Status) -> None:
    """Serve plain HTTP on a free port until the context closes; refuse to start where another server listens."""
    async with status_endpoints(BindAddress("127.0.0.1", 0), status) as url, open_session(Endpoint(url=url, context=None)) as session:
        async with session.get(f"{url}/livez") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        with pytest.raises(StartError, match=r"cannot listen on .*; another port: --metrics-bind-address"):
            await status_endpoints(BindAddress("127.0.0.1", int(url.rpartition(":")[2])), status).__aenter__()
