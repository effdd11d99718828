"""Tests of the manifests: the base, the overlays and the combinations of components."""

import json
import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click
import pytest

from apiext.cli.main import apiext
from apiext.meta.time import parse_duration
from apiext.operator.permissions import required_permissions
from hack.lib.manifests import BUILDS, MANIFESTS, NAMESPACE, Document, arguments, build_of, built, containers, one, rules

MARKS: Final = {
    "cert-manager": "--no-manage-serving-secret",
    "cert-manager-etcd": "--peer-client-cert-auth",
    "crd-dir": "--crd-dir=",
    "existing-etcd": '{"key": "servers", "name": "apiext-etcd"}',
    "host-etcd": "--host-etcd-servers=",
}
"""The objects or values that only a component adds."""
PAIRS: Final = [pair for pair in combinations(MARKS, 2) if pair != ("cert-manager-etcd", "existing-etcd")]


@pytest.fixture(params=BUILDS)
def documents(request: pytest.FixtureRequest) -> list[Document]:
    """Return the documents of each build."""
    return built(request.param)


def _workloads(documents: list[Document]) -> list[Document]:
    return [document for document in documents if containers(document)]


def _selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_pods_are_confined(documents: list[Document]) -> None:
    """Run pods without root, writes to the image, more privileges or host access, and with resource requests."""
    for workload in _workloads(documents):
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 1000
        # the group may read the files of Secrets
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        for container in containers(workload):
            context = container["securityContext"]
            assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
            assert "memory" in container["resources"]["limits"]
            assert not container["image"].endswith(":latest")
            assert ":" in container["image"]


def test_servers_stop_gracefully(documents: list[Document]) -> None:
    """Serve after SIGTERM until no new connections come, with enough time for requests in flight."""
    deployment = one(documents, "Deployment", "apiext")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = containers(deployment)
    flags = _flags(container)
    delay, timeout = parse_duration(flags["--shutdown-delay-duration"]), parse_duration(flags["--request-timeout"])

    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert deployment["spec"]["replicas"] >= 2
    probe = container["readinessProbe"]
    assert delay >= probe["periodSeconds"] * 3
    assert pod["terminationGracePeriodSeconds"] > delay + timeout
    assert container["startupProbe"]["httpGet"]["path"] == container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez?exclude=etcd"


def test_names_agree(documents: list[Document]) -> None:
    """Select existing pods and ports in Services, budgets and policies."""
    pods = [workload["spec"]["template"] for workload in _workloads(documents)]
    for document in documents:
        if document["kind"] not in {"Service", "PodDisruptionBudget", "NetworkPolicy"}:
            continue
        spec = document["spec"]
        selector = spec["podSelector"] if document["kind"] == "NetworkPolicy" else spec["selector"]
        found = [pod for pod in pods if _selects(selector.get("matchLabels", selector), pod["metadata"]["labels"])]
        assert found, document["metadata"]["name"]
        ports = {port["name"] for pod in found for container in pod["spec"]["containers"] for port in container.get("ports", ())}
        named = {port["targetPort"] for port in spec.get("ports", ())}
        named |= {port["port"] for rule in spec.get("ingress", ()) for port in rule["ports"]}
        assert named <= ports


def test_mounts_and_accounts_exist(documents: list[Document]) -> None:
    """Define a volume for each mount, and a budget and an existing service account for each workload."""
    budgets = [document["spec"]["selector"]["matchLabels"] for document in documents if document["kind"] == "PodDisruptionBudget"]
    for workload in _workloads(documents):
        pod = workload["spec"]["template"]
        volumes = {volume["name"] for volume in [*pod["spec"].get("volumes", ())]}
        volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", ())}
        assert volumes == {mount["name"] for container in containers(workload) for mount in container["volumeMounts"]}
        assert [labels for labels in budgets if _selects(labels, pod["metadata"]["labels"])]
        if account := pod["spec"].get("serviceAccountName"):
            one(documents, "ServiceAccount", account)
        else:
            assert pod["spec"]["automountServiceAccountToken"] is False


def _flags(container: Document) -> dict[str, str]:
    return dict(flag.partition("=")[::2] for flag in arguments(container))


def _commands(documents: list[Document]) -> Iterator[tuple[click.Command, list[str]]]:
    for deployment in ("apiext", "apiext-operator"):
        (container,) = containers(one(documents, "Deployment", deployment))
        name, *flags = arguments(container)
        yield apiext.commands[name], flags


def test_flags_are_known(documents: list[Document]) -> None:
    """Start the commands with flags that they have."""
    for command, flags in _commands(documents):
        with command.make_context(command.name, flags) as context:
            assert context.args == []


def test_the_operator_may_write_its_secret_and_lease(documents: list[Document]) -> None:
    """Name the same Secret in rights, flags and mounts."""
    (container,) = containers(one(documents, "Deployment", "apiext-operator"))
    flags = _flags(container)
    volumes = one(documents, "Deployment", "apiext")["spec"]["template"]["spec"]["volumes"]
    (mounted,) = [volume["secret"]["secretName"] for volume in volumes if volume["name"] == "serving"]
    secrets = [rule for _, rule in rules(documents, "apiext-operator") if rule.get("resources") == ["secrets"]]
    verbs = {verb for rule in secrets for verb in rule["verbs"]}

    assert flags["--serving-secret"] == f"{NAMESPACE}/{mounted}"
    assert all(rule["resourceNames"] == [mounted] for rule in secrets if rule["verbs"] != ["create"])
    assert verbs == {"get", "list", "watch"} | ({"create", "update"} if "--manage-serving-secret" in flags else set())
    assert flags["--service"] == f"{NAMESPACE}/{one(documents, 'Service', 'apiext')['metadata']['name']}"


def test_no_rule_has_a_wildcard(documents: list[Document]) -> None:
    """Use no wildcard in a role."""
    every = [rule for document in documents for rule in document.get("rules") or ()]

    assert [rule for rule in every if "*" in [*rule.get("apiGroups", ()), *rule.get("resources", ()), *rule["verbs"]]] == []


def test_the_operator_has_the_rights_that_it_checks(documents: list[Document]) -> None:
    """Grant every right that the operator checks at its start."""
    given = {
        (verb, group, resource, place, name)
        for place, rule in rules(documents, "apiext-operator")
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", ())
        for resource in rule.get("resources", ())
        for name in rule.get("resourceNames", [""])
    }
    wanted = {
        (right.verb, right.group, "/".join(filter(None, (right.resource, right.subresource))), right.namespace, right.name)
        for right in required_permissions(NAMESPACE)
    }

    assert wanted - given == set()


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_components_go_together(pair: tuple[str, str], tmp_path: Path) -> None:
    """Build every sensible pair of components, with the additions of both."""
    paths = [os.path.relpath(MANIFESTS / part, tmp_path) for part in ("base", *(f"components/{name}" for name in pair))]
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(kustomization | {"resources": paths[:1], "components": paths[1:]}))

    text = json.dumps(build_of(tmp_path))

    assert [name for name in pair if MARKS[name] not in text] == []


def test_every_component_is_tested() -> None:
    """Cover each component in the table."""
    assert {path.name for path in (MANIFESTS / "components").iterdir()} == MARKS.keys()


def test_existing_etcd_has_no_etcd() -> None:
    """Remove the bundled etcd for an existing one, whose address is in the Secret only."""
    text = json.dumps(built("overlays/existing-etcd"))

    assert "StatefulSet" not in text
    assert "apiext-etcd-0" not in text
    (container,) = containers(one(built("overlays/existing-etcd"), "Deployment", "apiext"))
    assert container["env"] == [{"name": "ETCD_SERVERS", "valueFrom": {"secretKeyRef": {"name": "apiext-etcd", "key": "servers"}}}]


def test_cert_manager_has_the_right_names() -> None:
    """Issue the certificate for the name that kube-apiserver uses, into the mounted Secret."""
    certificate = one(built("overlays/cert-manager"), "Certificate", "apiext-serving")["spec"]

    assert certificate["dnsNames"][0] == f"apiext.{NAMESPACE}.svc"
    assert certificate["secretName"] == "apiext-serving"


def test_etcd_certificates_have_the_names_of_the_members() -> None:
    """Issue the etcd certificate for each member's name."""
    documents = built("overlays/cert-manager")
    (container,) = containers(one(documents, "StatefulSet", "apiext-etcd"))
    peers = [urlsplit(peer.partition("=")[2]) for peer in _flags(container)["--initial-cluster"].split(",")]

    assert {peer.scheme for peer in peers} == {"https"}
    assert [peer.hostname for peer in peers] == one(documents, "Certificate", "apiext-etcd")["spec"]["dnsNames"]
