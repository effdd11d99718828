"""What a plan knows of conversion webhooks."""

import copy
from typing import Any

from apiext.tools.plan import webhooks
from tests.support.builders.plans import WEBHOOK, created, shaped

NONE = created(shaped("v1", "a", storage=True)).object["spec"]
HOOK = created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=WEBHOOK).object["spec"]


def _with_client(client: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = copy.deepcopy(HOOK)
    spec["conversion"]["webhook"]["clientConfig"] = client
    return spec


def test_targets() -> None:
    """Name the Service or the URL, and check it."""
    url = _with_client({"url": "https://hook.example.com/convert"})

    assert webhooks.target_of(HOOK) == "Service operators/hook"
    assert webhooks.check_of(HOOK).startswith('test -n "$(kubectl -n operators get endpointslices -l kubernetes.io/service-name=hook')
    assert webhooks.target_of(url) == "https://hook.example.com/convert"
    assert webhooks.check_of(url) == "curl --silent --insecure --output /dev/null https://hook.example.com/convert"
    assert webhooks.target_of(NONE) == ""


def test_deployment() -> None:
    """Deploy a webhook that is new, elsewhere, or must know another version."""
    assert webhooks.deployment_reason(None, HOOK) == ""
    assert webhooks.deployment_reason(HOOK, NONE) == ""
    assert webhooks.deployment_reason(HOOK, HOOK) == ""
    assert webhooks.deployment_reason(NONE, NONE | {"conversion": HOOK["conversion"]}) == ""
    assert "from the moment of the update" in webhooks.deployment_reason(NONE, HOOK)
    assert webhooks.deployment_reason(_with_client({"url": "https://x"}), HOOK) == "the definition has used https://x so far"
    less = HOOK | {"versions": HOOK["versions"][1:]}
    assert webhooks.deployment_reason(less, HOOK) == "the deployed one may not know v1"


def test_cautions() -> None:
    """Warn of an operator that waits for itself, and of a missing CA."""
    trusted = _with_client({"service": {"namespace": "operators", "name": "hook"}, "caBundle": "eA=="})

    assert len(webhooks.cautions(NONE, HOOK, {}, ["v1"])) == 2
    assert len(webhooks.cautions(NONE, HOOK, {"cert-manager.io/inject-ca-from": "x/y"}, ["v1"])) == 1
    assert webhooks.cautions(NONE, trusted, {}, ["v2"]) == []
    assert webhooks.cautions(HOOK, HOOK, {}, ["v1"]) == []
    assert webhooks.cautions(HOOK, NONE, {}, ["v1"]) == []
