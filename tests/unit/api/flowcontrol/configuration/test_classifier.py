"""Classification of requests by the bootstrap objects, and its cache."""

import pytest

from apiext.api.flowcontrol.configuration import classifier as classifier_module
from apiext.api.flowcontrol.configuration.classifier import Classifier
from apiext.api.flowcontrol.configuration.configuration import BOOTSTRAP, MANDATORY
from apiext.base.meta.limits import MAX_CLASSIFICATION_CHARACTERS
from apiext.base.meta.request import ANONYMOUS, AUTHENTICATED, MASTERS, RequestInfo, UserInfo
from tests.unit.api.flowcontrol.configuration.test_flow_schema import resource_request

ANN = UserInfo("ann", (AUTHENTICATED,))
NODE = UserInfo("system:node:n", ("system:nodes", AUTHENTICATED))
MANAGER = UserInfo("system:kube-controller-manager", (AUTHENTICATED,))
ROBOT = UserInfo("system:serviceaccount:ns:robot", ("system:serviceaccounts", AUTHENTICATED))
SYSTEM_ROBOT = UserInfo("system:serviceaccount:kube-system:gc", ("system:serviceaccounts", AUTHENTICATED))
LEASE = resource_request(group="coordination.k8s.io", resource="leases")
NODE_STATUS = resource_request(group="", resource="nodes", subresource="status", namespace="", verb="patch")


@pytest.mark.parametrize(
    "user, info, schema, level, flow",
    [
        (UserInfo("root", (MASTERS,)), resource_request(), "exempt", "exempt", ""),
        (ANN, resource_request(), "global-default", "global-default", "ann"),
        (ANONYMOUS, RequestInfo(path="/healthz", verb="get"), "probes", "exempt", ""),
        (ANONYMOUS, RequestInfo(path="/readyz/etcd", verb="get"), "probes", "exempt", ""),
        (ANONYMOUS, RequestInfo(path="/version", verb="get"), "global-default", "global-default", "system:anonymous"),
        (MANAGER, LEASE, "system-leader-election", "leader-election", "system:kube-controller-manager"),
        (MANAGER, resource_request(), "kube-controller-manager", "workload-high", "ns"),
        (NODE, NODE_STATUS, "system-node-high", "node-high", "system:node:n"),
        (NODE, resource_request(), "system-nodes", "system", "system:node:n"),
        (ROBOT, resource_request(), "service-accounts", "workload-low", "system:serviceaccount:ns:robot"),
        (SYSTEM_ROBOT, resource_request(), "kube-system-service-accounts", "workload-high", "ns"),
        (UserInfo("nobody"), resource_request(), "catch-all", "catch-all", ""),
    ],
)
def test_classifies(user: UserInfo, info: RequestInfo, schema: str, level: str, flow: str) -> None:
    """Classify by the first FlowSchema that matches; flows are distinguished where there are queues."""
    found = Classifier(BOOTSTRAP).classify(user, info)

    assert (found.schema.name, found.level.name, found.flow) == (schema, level, flow)


def test_catch_all_has_no_flows() -> None:
    """Distinguish no flows in a priority level without queues, whatever its FlowSchema says."""
    found = Classifier(MANDATORY).classify(ANN, resource_request())

    assert (found.schema.name, found.flow) == ("catch-all", "")


def test_remembers_what_decides() -> None:
    """Return the same classification for requests that differ in their names only."""
    classifier = Classifier(BOOTSTRAP)
    first = classifier.classify(ANN, resource_request(name="a"))

    assert classifier.classify(ANN, resource_request(name="b")) is first
    assert classifier.classify(ANN, resource_request(namespace="other")) is not first


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget all classifications when there are too many, and remember none of a long request."""
    monkeypatch.setattr(classifier_module, "MAX_CLASSIFICATIONS", 2)
    classifier = Classifier(BOOTSTRAP)
    first = classifier.classify(ANN, resource_request())
    for namespace in ("a", "b"):
        classifier.classify(ANN, resource_request(namespace=namespace))

    assert classifier.classify(ANN, resource_request()) is not first

    long = RequestInfo(path="/" + "x" * MAX_CLASSIFICATION_CHARACTERS, verb="get")
    assert classifier.classify(ANN, long) is not classifier.classify(ANN, long)
