"""Both servers with the feature gates of admission switched off."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import MARKER_CRD, GuardedPair
from tests.support.admission_webhook import AdmissionWebhook, denying
from tests.support.builders import admission

pytestmark = pytest.mark.slow

GATES: Final = "ExcludeAdmissionWebhookVirtualResources=false,ManifestBasedAdmissionControlConfig=false,MutatingAdmissionPolicy=false"
_REVIEWS: Final = (
    admission.rule("*", group="authentication.k8s.io", operations=["CREATE"]),
    admission.rule("*", group="authorization.k8s.io", operations=["CREATE"]),
)
_PATH: Final = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}


@pytest.fixture(scope="module")
def ungated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedPair]:
    """Start both servers without the gates."""
    folder = tmp_path_factory.mktemp("ungated")
    flags = [f"--feature-gates={GATES}"]
    with (
        ControlPlane(folder / "reference", durable=False, extra_args=flags) as plane,
        AdmissionWebhook(folder) as webhook,
        BareServer(folder / "apiext", extra_args=[*flags, "--authorization-mode=RBAC"]) as server,
        closing(Pair(plane, server)) as pair,
        pair.served(MARKER_CRD),
    ):
        yield GuardedPair(pair, webhook)


def _hook(*rules: dict[str, Any], name: str = "a.example.com", **client: str) -> dict[str, Any]:
    return admission.hook(name, *rules, clientConfig={"url": "https://127.0.0.1:1"}, failurePolicy="Ignore", **client)


def test_names_and_rules(ungated: GuardedPair) -> None:
    """Warn about names that files have where the gate is off, and about no rule for reviews."""
    name, padding = "x.static.k8s.io", {"annotations": {"example.com/padding": "x" * 40_000}}
    rule = admission.rule("widgets", group="example.com")
    objects = [
        admission.mutating(name, _hook(*_REVIEWS, admission.rule("tokenreviews", group="authentication.k8s.io"))),
        admission.validating(name, _hook(admission.rule("tokenreviews", group="authentication.k8s.io"))),
        admission.validating_policy(name, "true", rules=[rule]),
        admission.validating_binding(name, name),
        admission.mutating_policy(name, admission.applying("Object{}"), rules=[rule]),
        admission.mutating_binding(name, name),
    ]
    steps = []
    for one in objects:
        path = admission.collection(one["kind"])
        large = one | {"metadata": {"name": f"large.{name}", **padding}}
        steps += [Step("POST", f"{path}?dryRun=All", each) for each in (one, large)]
        steps.append(Step("POST", path, one))
        patch = {"metadata": {"labels": {"a": "b"}}}
        if one["kind"] != "ValidatingAdmissionPolicy":
            # apiext has written its status, for which the reference needs a controller
            steps.append(Step("PATCH", f"{path}/{name}", patch, {"Content-Type": "application/merge-patch+json"}))
        steps.append(Step("DELETE", f"{path}/{name}"))

    assert_none(ungated.compare(steps))


def test_webhooks_of_reviews(ungated: GuardedPair) -> None:
    """Ask webhooks of both phases about reviews, and let them refuse these."""
    version = {"apiVersion": "authorization.k8s.io/v1"}
    bodies = {
        "authentication.k8s.io/v1/selfsubjectreviews": {"metadata": {}},
        "authentication.k8s.io/v1/tokenreviews": {"spec": {"token": "x"}},
        "authorization.k8s.io/v1/selfsubjectaccessreviews": {**version, "kind": "SelfSubjectAccessReview", "spec": _PATH},
        "authorization.k8s.io/v1/subjectaccessreviews": {"spec": {**_PATH, "user": "bob"}},
        "authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews": {"spec": {**_PATH, "user": "bob"}},
        "authorization.k8s.io/v1/selfsubjectrulesreviews": {"spec": {"namespace": "default"}},
    }
    steps = [Step("POST", f"/apis/{path}", body) for path, body in bodies.items()]
    empty = [Step("POST", f"/apis/{path}", {}) for path in bodies]
    # answers about the requesting user name the administrator, who differs
    others = [step for step in (*steps, *empty) if "selfsubjectreviews" not in step.path and "rulesreviews" not in step.path]
    asked = (
        admission.mutating("m", admission.hook("m.example.com", *_REVIEWS)),
        admission.validating("v", admission.hook("v.example.com", *_REVIEWS)),
    )
    policy = admission.validating_policy("p", "false", rules=[*_REVIEWS])
    with ungated.installed(*asked, policy, admission.validating_binding("p", "p")):
        assert_none(ungated.compare(others))
        ungated.webhook.answers["v.example.com"] = denying("no")
        assert_none(ungated.compare([*steps, *empty]))


def test_no_mutating_policies(ungated: GuardedPair) -> None:
    """Apply no MutatingAdmissionPolicy: the markers of these take no effect on either side."""
    path = "/api/v1/namespaces/default/configmaps"
    rule = admission.rule("configmaps", group="", operations=["CREATE"])
    change = admission.json_patching('[JSONPatch{op: "add", path: "/data", value: {"a": "b"}}]')
    made = [admission.mutating_policy("m", change, rules=[rule]), admission.mutating_binding("m", "m")]
    steps = [Step("POST", admission.collection(one["kind"]), one) for one in made]
    shown = admission.validating("v", admission.hook("v.example.com", rule))

    assert_none(ungated.compare(steps))
    with ungated.installed(shown):
        assert_none(ungated.compare([Step("POST", f"{path}?dryRun=All", {"metadata": {"name": "a"}})]))
    assert_none(ungated.compare(Step("DELETE", f"{step.path}/m") for step in steps))
