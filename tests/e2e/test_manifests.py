"""The manifests in a real cluster: they are valid, and give the rights that are needed and no others."""

import json
from itertools import count
from typing import Any, Final

import pytest

from hack.lib.manifests import BUILDS, NAMESPACE, built
from hack.lib.servers.aggregated_cluster import CRDS
from hack.lib.servers.caller import Caller
from hack.lib.waiting import until
from tests.e2e.installed import OPERATOR, SERVER, Installed
from tests.e2e.pods import Pods
from tests.support.builders.crds import crd, widget, widget_crd

pytestmark = pytest.mark.slow
_REVIEWS: Final = "/apis/authorization.k8s.io/v1"
_NUMBERS: Final = count()
GROUP: Final = "installed.example.com"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
MERGE: Final = [("Content-Type", "application/merge-patch+json")]

FOREIGN: Final = {"cert-manager.io": ("Issuer", "Certificate"), "monitoring.coreos.com": ("PodMonitor", "PrometheusRule")}
"""Kinds of other projects in the manifests, by group."""
CLUSTER_WIDE: Final = {
    SERVER: {
        "create subjectaccessreviews.authorization.k8s.io",
        "create tokenreviews.authentication.k8s.io",
        "get /metrics",
        "get,list,watch configmaps",
        "get,list,watch customresourcedefinitions.apiextensions.k8s.io",
        "get,list,watch namespaces",
        "get,list,watch resourcequotas",
        "list,watch conversions.conversions.apiext.dev",
        "list,watch flowschemas.flowcontrol.apiserver.k8s.io",
        "list,watch mutatingadmissionpolicies.admissionregistration.k8s.io",
        "list,watch mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        "list,watch mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "list,watch prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "list,watch validatingadmissionpolicies.admissionregistration.k8s.io",
        "list,watch validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "list,watch validatingwebhookconfigurations.admissionregistration.k8s.io",
        "update resourcequotas/status",
    },
    OPERATOR: {
        "create,delete,get,list,patch,watch apiservices.apiregistration.k8s.io",
        "create,delete,get,list,patch,update validatingadmissionpolicies.admissionregistration.k8s.io",
        "create,delete,get,list,update mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "create,delete,get,update validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "delete,get,list,patch,watch customresourcedefinitions.apiextensions.k8s.io",
        "get /metrics",
        "get /readyz/*",
        "get /stored/versions/*",
        "list leases.coordination.k8s.io apiext-operator",
        "patch customresourcedefinitions/status.apiextensions.k8s.io",
        "post /apiext/import/*",
    },
}
"""All that service accounts may do everywhere, besides what everybody may."""
IN_NAMESPACE: Final = {
    (SERVER, "kube-system"): {"get,list,watch configmaps extension-apiserver-authentication"},
    (SERVER, NAMESPACE): set(),
    (OPERATOR, "kube-system"): set(),
    (OPERATOR, "default"): {"create configmaps", "create,patch events"},
    (OPERATOR, NAMESPACE): {
        "create leases.coordination.k8s.io",
        "create secrets",
        "get services apiext",
        "get,list,watch secrets apiext-serving",
        "get,update leases.coordination.k8s.io apiext-operator",
        "list endpointslices.discovery.k8s.io",
        "update secrets apiext-serving",
    },
}
"""All that they may do in a namespace besides."""


def _rules(caller: Caller, namespace: str) -> set[str]:
    """Return the rules of a client in a namespace as text."""
    status = caller.must("POST", f"{_REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": namespace}})["status"]
    assert not status["incomplete"]
    found = set()
    for rule in status["resourceRules"]:
        resources = [f"{resource}.{group}" if group else resource for group in rule["apiGroups"] for resource in rule["resources"]]
        names = [f" {name}" for name in rule.get("resourceNames", ())] or [""]
        found |= {f"{','.join(sorted(rule['verbs']))} {resource}{name}" for resource in resources for name in names}
    found |= {f"{','.join(rule['verbs'])} {path}" for rule in status["nonResourceRules"] for path in rule["nonResourceURLs"]}
    return found


@pytest.mark.parametrize("build", BUILDS)
def test_cluster_accepts_the_manifests(installed: Installed, build: str) -> None:
    """Accept every document without a warning."""
    documents = built(build)
    for group, kinds in FOREIGN.items():
        if any(document["apiVersion"].startswith(group) for document in documents):
            _define_foreign_kinds(installed, group, kinds)

    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    done = installed.kubectl.run("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(documents)


@pytest.mark.parametrize("account", [SERVER, OPERATOR])
def test_grants_no_other_rights(installed: Installed, account: str) -> None:
    """Grant service accounts the rights listed here, and no others beyond those of every user."""
    name = f"nobody-{next(_NUMBERS)}"
    installed.host.must("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
    own, nobody = installed.as_account(account), installed.as_account(name)

    everybodys = _rules(nobody, "default")

    for namespace in ("kube-system", "default", NAMESPACE):
        wanted = CLUSTER_WIDE[account] | IN_NAMESPACE.get((account, namespace), set())
        until(lambda: _rules(own, namespace) - everybodys == wanted)  # noqa: B023 -- called at once


def test_grants_all_needed_rights(pods: Pods) -> None:
    """Forbid no request of servers or operator while a group is adopted, used, handed over and deleted."""
    host = pods.installed.host
    host.must("POST", CRDS, {**widget_crd(group=GROUP), "metadata": {"name": f"widgets.{GROUP}"}})
    until(lambda: host.ask("GET", WIDGETS)[0] == 200)
    host.must("POST", WIDGETS, widget("old", group=GROUP, size="M"))
    adopt = {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["get", "list", "watch", "patch"]}
    labels = {"apiext.dev/aggregate-to-adopt": "true"}
    host.must("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "adopt-widgets", "labels": labels}, "rules": [adopt]})
    operator = pods.installed.as_account(OPERATOR)
    review = {"spec": {"resourceAttributes": {"verb": "list", "group": GROUP, "resource": "widgets"}}}
    until(lambda: operator.must("POST", f"{_REVIEWS}/selfsubjectaccessreviews", review)["status"]["allowed"])

    host.must("PATCH", f"{CRDS}/widgets.{GROUP}", {"metadata": {"labels": {"apiext.dev/serve": "true"}}}, MERGE)
    until(lambda: _condition(host.must("GET", f"{CRDS}/widgets.{GROUP}"), "ServedByApiext") == "True:Serving")
    until(lambda: _is_apiexts(host, "new"))
    assert [one["metadata"]["name"] for one in host.must("GET", WIDGETS)["items"]] == ["new", "old"]
    assert pods.caller(token=pods.installed.token(OPERATOR)).ask("GET", WIDGETS)[0] == 200

    host.must("PATCH", f"{CRDS}/widgets.{GROUP}", {"metadata": {"annotations": {"apiext.dev/hand-over": "true"}}}, MERGE)
    until(lambda: _condition(host.must("GET", f"{CRDS}/widgets.{GROUP}"), "ServedByApiext") == "False:HandedOver")
    assert [one["metadata"]["name"] for one in host.must("GET", WIDGETS)["items"]] == ["new", "old"]
    host.must("DELETE", f"{CRDS}/widgets.{GROUP}")
    until(lambda: host.ask("GET", f"{CRDS}/widgets.{GROUP}")[0] == 404)

    assert [pods.installed.forbidden(account) for account in (SERVER, OPERATOR)] == [[], []]
    log = pods.server.log.read_text() + pods.operator.log.read_text()
    assert [line for line in log.splitlines() if "lacks a right" in line or "is forbidden" in line] == []


def _condition(found: dict[str, Any], kind: str) -> str:
    return next((f"{one['status']}:{one['reason']}" for one in found["status"]["conditions"] if one["type"] == kind), "")


def test_runs_on_a_read_only_file_system(pods: Pods) -> None:
    """Run on a read-only file system, without a home folder."""
    folder = pods.installed.folder

    assert {path.name for name in ("server", "operator") for path in (folder / name).iterdir()} == {"log", "serviceaccount"}


def _is_apiexts(host: Caller, name: str) -> bool:
    """Return whether apiext answers a create, by its revision."""
    code, answer = host.ask("POST", WIDGETS, widget(name, group=GROUP, size="M"))
    return code == 409 or (code == 201 and int(answer["metadata"]["resourceVersion"]) > 10**15)


def _define_foreign_kinds(installed: Installed, group: str, kinds: tuple[str, ...]) -> None:
    """Define kinds of others, with any content."""
    for kind in kinds:
        plural = f"{kind.lower()}s"
        installed.host.ask("POST", CRDS, crd(plural, kind=kind, group=group))
        until(lambda: installed.host.ask("GET", f"/apis/{group}/v1/{plural}")[0] == 200)  # noqa: B023 -- called at once
