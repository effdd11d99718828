"""The manifests in a real cluster: they are taken as they are, and give the rights that are needed and no others."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Final

import pytest

from tests.e2e.installed import OPERATOR, SERVER, Installed
from tests.support.caller import Caller
from tests.support.manifests import BUILDS, NAMESPACE, built
from tests.support.waiting import until

pytestmark = pytest.mark.slow
_REVIEWS: Final = "/apis/authorization.k8s.io/v1"
_NUMBERS: Final = count()

CLUSTER_WIDE: Final = {
    SERVER: {
        "create subjectaccessreviews.authorization.k8s.io",
        "create tokenreviews.authentication.k8s.io",
        "get,list,watch customresourcedefinitions.apiextensions.k8s.io",
        "get,list,watch namespaces",
        "get,list,watch resourcequotas",
        "update resourcequotas/status",
    },
    OPERATOR: {
        "create,delete,get,list,patch,watch apiservices.apiregistration.k8s.io",
        "create,delete,get,list,patch,update validatingadmissionpolicies.admissionregistration.k8s.io",
        "create,delete,get,update validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "delete,get,list,patch,watch customresourcedefinitions.apiextensions.k8s.io",
        "get /readyz/*",
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


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """A cluster with the base."""
    with Installed(tmp_path_factory.mktemp("installed")) as started:
        yield started


def _rules(caller: Caller, namespace: str) -> set[str]:
    """What a client may do in a namespace, in words."""
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
def test_a_cluster_takes_them(installed: Installed, build: str) -> None:
    """Every document is valid, known to the cluster, and without anything that the cluster warns of."""
    documents = built(build)
    if any(document["apiVersion"].startswith("cert-manager.io") for document in documents):
        _define_cert_managers_kinds(installed)

    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    done = installed.kubectl.run("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(documents)


@pytest.mark.parametrize("account", [SERVER, OPERATOR])
def test_no_other_rights(installed: Installed, account: str) -> None:
    """Service accounts may do what is written here, and nothing else beyond what everybody may."""
    name = f"nobody-{next(_NUMBERS)}"
    installed.host.must("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
    own, nobody = installed.as_account(account), installed.as_account(name)

    everybodys = _rules(nobody, "default")

    for namespace in ("kube-system", "default", NAMESPACE):
        wanted = CLUSTER_WIDE[account] | IN_NAMESPACE.get((account, namespace), set())
        until(lambda: _rules(own, namespace) - everybodys == wanted)  # noqa: B023 -- called at once


def _define_cert_managers_kinds(installed: Installed) -> None:
    """Make kinds of cert-manager's names known, with whatever in them."""
    for plural, kind in (("issuers", "Issuer"), ("certificates", "Certificate")):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        spec = {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        }
        installed.host.ask(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            {"metadata": {"name": f"{plural}.cert-manager.io"}, "spec": spec},
        )
        until(lambda: installed.host.ask("GET", f"/apis/cert-manager.io/v1/{plural}")[0] == 200)  # noqa: B023 -- called at once
