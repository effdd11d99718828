"""Definitions and a webhook that both servers call."""

from collections.abc import Iterator

import pytest

from hack.lib.differential.pair import Pair, Step
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.cases.admission_objects import CRDS, TEAM
from tests.differential.helpers.guarded_pair import MARKER_CRD, GuardedPair
from tests.support.admission_webhook import AdmissionWebhook


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a reference of its own: other tests compare all namespaces and groups of theirs, which these tests add to."""
    with ControlPlane(tmp_path_factory.mktemp("guarding-control-plane"), durable=False) as plane:
        yield plane


@pytest.fixture(scope="session")
def guarded(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedPair]:
    """Serve the definitions on the reference and on a server that authorizes as it does, beside a webhook."""
    folder = tmp_path_factory.mktemp("guarded")
    with AdmissionWebhook(folder) as webhook, ApiextServer(folder, extra_args=["--authorization-mode=RBAC"]) as server:
        pair = Pair(control_plane, server)
        for side in (pair.reference, pair.ours):
            side.raw(Step("POST", "/api/v1/namespaces", TEAM))
        with pair.served(MARKER_CRD, *CRDS):
            yield GuardedPair(pair, webhook)
        pair.close()
