"""Tests of the real kubectl with the built-in kinds that operators need: RBAC, ServiceAccounts, ConfigMaps, Secrets, Leases, Events."""

from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.kubectl import Kubectl

SPACE: Final = "operators"
HERE: Final = ("-n", SPACE)
# As operators ship it: what a controller with leader election needs.
OPERATOR: Final = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
imagePullSecrets: [{name: registry}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: "system:operator:leases"}
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: "system:operator:leases"}
subjects:
- {kind: ServiceAccount, name: operator, namespace: operators}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {log: %s}
---
apiVersion: v1
kind: Secret
metadata: {name: registry}
type: kubernetes.io/dockerconfigjson
stringData: {.dockerconfigjson: "{}"}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader}
spec: {holderIdentity: operator-0, leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z"}
"""
NAMES: Final = "sa,roles,rolebindings,cm,secrets,leases"


@pytest.fixture(scope="module")
def kubectl(server: ApiextServer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Return kubectl for a server with a namespace for these tests."""
    kubectl = Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))
    kubectl("create", "namespace", SPACE)
    return kubectl


def _names(kubectl: Kubectl, *resources: str) -> set[str]:
    return set(kubectl("get", *HERE, ",".join(resources), "-o", "name").split())


def test_create_commands(kubectl: Kubectl) -> None:
    """Create objects with the commands that kubectl has for their kinds, and describe them."""
    kubectl("create", *HERE, "serviceaccount", "robot")
    kubectl("create", *HERE, "configmap", "made", "--from-literal=a=b", f"--from-file=binary={Path('/bin/true')}")
    kubectl("create", *HERE, "secret", "generic", "made", "--from-literal=password=x")
    kubectl("create", *HERE, "secret", "docker-registry", "pull", "--docker-server=r", "--docker-username=u", "--docker-password=p")
    kubectl("create", *HERE, "role", "reader", "--verb=get,list", "--resource=secrets")
    kubectl("create", *HERE, "rolebinding", "reader", "--role=reader", f"--serviceaccount={SPACE}:robot", "--user=ann")
    kubectl("create", "clusterrole", "health", "--verb=get", "--non-resource-url=/healthz")
    kubectl("create", "clusterrole", "all-of-them", "--aggregation-rule=a=b")
    kubectl("create", "clusterrolebinding", "health", "--clusterrole=health", "--group=watchers")

    described = kubectl("describe", *HERE, "secret/made", "configmap/made", "sa/robot", "role/reader", "rolebinding/reader")
    for text in ("password:  1 bytes", "a:\n----\nb", "Image pull secrets:", "[get list]", "ServiceAccount  robot  operators"):
        assert text in described
    assert "[/healthz]" in kubectl("describe", "clusterrole", "health")
    assert "Group  watchers" in kubectl("describe", "clusterrolebinding", "health")
    shown = kubectl("get", *HERE, "rolebinding,cm,secret,sa", "-o", "wide")
    assert "Role/reader" in shown
    assert "operators/robot" in shown
    assert "kubernetes.io/dockerconfigjson" in shown


def test_apply(kubectl: Kubectl) -> None:
    """Apply an operator's files, again without a change, and with one; then on the server; then delete them."""
    kubectl("apply", *HERE, "-f", "-", stdin=OPERATOR % "info")
    unchanged = kubectl("apply", *HERE, "-f", "-", stdin=OPERATOR % "info")
    changed = kubectl("apply", *HERE, "-f", "-", stdin=OPERATOR % "debug")
    kubectl("apply", "--server-side", "--force-conflicts", *HERE, "-f", "-", stdin=OPERATOR % "debug")
    level = kubectl("get", *HERE, "cm", "settings", "-o", "jsonpath={.data.log}")
    lease = kubectl("get", *HERE, "lease").split()

    # The plain texts of a secret are never stored, so the apply of such a secret always differs.
    assert unchanged.count("unchanged") == 5
    assert changed.count("unchanged") == 4
    assert level == "debug"
    assert lease[:5] == ["NAME", "HOLDER", "AGE", "leader", "operator-0"]
    kubectl("delete", *HERE, "-f", "-", stdin=OPERATOR % "debug")
    assert "role.rbac.authorization.k8s.io/system:operator:leases" not in _names(kubectl, "roles")


def test_discovery(kubectl: Kubectl) -> None:
    """Find the kinds by their short names, and explain their fields."""
    listed = kubectl("api-resources", "--no-headers", "--sort-by=name").splitlines()
    assert {"configmaps", "leases", "rolebindings", "secrets", "serviceaccounts"} <= {line.split()[0] for line in listed}
    for path, text in (
        ("sa.secrets", "name"),
        ("cm.binaryData", "UTF-8"),
        ("secret.type", "certain keys"),
        ("role.rules.nonResourceURLs", "Paths"),
        ("clusterrole.aggregationRule.clusterRoleSelectors.matchExpressions.operator", "NotIn"),
        ("rolebinding.roleRef", "cannot be changed"),
        ("lease.spec.renewTime", "renewed"),
    ):
        assert text in kubectl("explain", path), path
    assert "regarding" in kubectl("explain", "events", "--api-version=events.k8s.io/v1")
    refused = kubectl.refused("create", *HERE, "secret", "generic", "bad", "--type=kubernetes.io/ssh-auth", "--from-literal=a=b")
    assert "data[ssh-privatekey]: Required value" in refused


def test_deletes_the_objects_of_a_namespace(kubectl: Kubectl) -> None:
    """Delete the objects of a deleted namespace; it refuses new ones."""
    kubectl("create", "namespace", "doomed")
    doomed = ("-n", "doomed")
    kubectl("apply", *doomed, "-f", "-", stdin=(OPERATOR % "info").replace("namespace: operators", "namespace: doomed"))
    kubectl("patch", *doomed, "cm", "settings", "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}')
    kubectl("delete", "namespace", "doomed", "--wait=false")
    kubectl("wait", "namespace/doomed", "--for=jsonpath={.status.phase}=Terminating", "--timeout=40s")
    refused = kubectl.refused("create", *doomed, "configmap", "late")
    kubectl("patch", *doomed, "cm", "settings", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl("wait", "namespace/doomed", "--for=delete", "--timeout=40s")
    kubectl("create", "namespace", "doomed")

    assert "because it is being terminated" in refused
    assert kubectl("get", *doomed, NAMES, "-o", "name") == ""


POLICIES: Final = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shown}
webhooks:
- name: a.example.com
  clientConfig: {service: {namespace: default, name: hook}}
  rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: shown}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]
  validations: [{expression: "true"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: shown}
spec:
  policyName: shown
  paramRef: {name: settings, parameterNotFoundAction: Deny}
  validationActions: [Deny]
"""


def test_configurations_of_admission(kubectl: Kubectl) -> None:
    """Apply, print and explain webhook configurations, policies and bindings."""
    names = "validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"
    for flags in ((), ("--server-side", "--force-conflicts")):
        applied = kubectl("apply", *flags, "-f", "-", stdin=POLICIES)
        assert applied.count("/shown ") == 3

    table = [line.split()[:-1] for line in kubectl("get", names, "--no-headers").splitlines() if line]
    assert table == [
        ["validatingwebhookconfiguration.admissionregistration.k8s.io/shown", "1"],
        ["validatingadmissionpolicy.admissionregistration.k8s.io/shown", "1", "v1/ConfigMap"],
        ["validatingadmissionpolicybinding.admissionregistration.k8s.io/shown", "shown", "*/settings"],
    ]
    assert "CEL expression" in kubectl("explain", "validatingadmissionpolicy.spec.validations.expression")
    assert "shown" in kubectl("get", "api-extensions", "-o", "name")
    kubectl("delete", names, "shown")
