"""Definitions and a webhook that both servers call."""

from collections.abc import Iterator

import pytest

from hack.lib.differential.pair import Pair, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.cases.admission_objects import CRDS, GROUP, TEAM, Json
from tests.differential.cases.policy_cases import CONFIG_MAP
from tests.differential.helpers.guarded_pair import MARKER_CRD, GuardedPair
from tests.support.admission_webhook import AdmissionWebhook
from tests.support.builders import admission


@pytest.fixture(scope="package")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Start a reference of its own: other tests compare all namespaces and groups of theirs, which these tests add to."""
    with ControlPlane(tmp_path_factory.mktemp("guarding-control-plane"), durable=False) as plane:
        yield plane


@pytest.fixture(scope="package")
def guarded(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedPair]:
    """Serve the definitions on the reference and on a server that authorizes as it does, beside a webhook."""
    folder = tmp_path_factory.mktemp("guarded")
    with AdmissionWebhook(folder) as webhook, BareServer(folder, extra_args=["--authorization-mode=RBAC"]) as server:
        pair = Pair(control_plane, server)
        for side in (pair.reference, pair.ours):
            side.raw(Step("POST", "/api/v1/namespaces", TEAM))
        with pair.served(MARKER_CRD, *CRDS):
            made = GuardedPair(pair, webhook)
            made.keep(*_followed_config_maps())
            yield made
        pair.close()


def _followed_config_maps() -> list[Json]:
    """Return a policy with a ConfigMap as parameter that matches no write, and its binding.

    When the last policy is gone whose parameters are of a kind of client-go, kube-apiserver stops to follow that kind, and never begins
    again: later policies would see what was there then.
    """
    constraints = {"resourceRules": [admission.rule("nothing", group=GROUP)]}
    made = admission.validating_policy("following", "true", paramKind=CONFIG_MAP, matchConstraints=constraints)
    reference = {"name": "following", "namespace": "default", "parameterNotFoundAction": "Allow"}
    return [made, admission.validating_binding("following", "following", paramRef=reference)]
