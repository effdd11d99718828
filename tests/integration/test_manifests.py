"""The manifests say what they must, whatever is put together."""

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
from apiext.meta.duration import parse_duration
from apiext.operator.permissions import needed
from hack.lib.manifests import BUILDS, MANIFESTS, NAMESPACE, Document, arguments, build_of, built, containers, one, rules

MARKS: Final = {
    "cert-manager": "--no-manage-serving-secret",
    "cert-manager-etcd": "--peer-client-cert-auth",
    "crd-dir": "--crd-dir=",
    "existing-etcd": '{"key": "servers", "name": "apiext-etcd"}',
    "host-etcd": "--host-etcd-servers=",
}
"""What only a component brings."""
PAIRS: Final = [pair for pair in combinations(MARKS, 2) if pair != ("cert-manager-etcd", "existing-etcd")]


@pytest.fixture(params=BUILDS)
def documents(request: pytest.FixtureRequest) -> list[Document]:
    """Those of each build."""
    return built(request.param)


def _workloads(documents: list[Document]) -> list[Document]:
    return [document for document in documents if containers(document)]


def _selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_pods_are_confined(documents: list[Document]) -> None:
    """No pod is root, writes to its image, gains rights, or may use the host; all say what they need."""
    for workload in _workloads(documents):
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 1000
        # files of Secrets are the group's to read
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


def test_servers_leave_in_order(documents: list[Document]) -> None:
    """A server that is told to end goes on until nobody comes any more, and has the time to finish what has begun."""
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
    """Services, budgets and policies select pods that there are, and ports that they have."""
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


def test_pods_have_what_they_mount(documents: list[Document]) -> None:
    """Each mount has its volume, and each workload a budget and a service account that there is, or none."""
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
    """The commands know the flags with which they are started."""
    for command, flags in _commands(documents):
        with command.make_context(command.name, flags) as context:
            assert context.args == []


def test_the_operator_may_touch_its_secret_and_lease(documents: list[Document]) -> None:
    """Rights, flags and mounts name the same Secret."""
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


def test_no_rule_is_for_everything(documents: list[Document]) -> None:
    """No role has a wildcard."""
    every = [rule for document in documents for rule in document.get("rules") or ()]

    assert [rule for rule in every if "*" in [*rule.get("apiGroups", ()), *rule.get("resources", ()), *rule["verbs"]]] == []


def test_the_operator_has_the_rights_that_it_asks_for(documents: list[Document]) -> None:
    """What the operator complains of where it is missing is in its roles."""
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
        for right in needed(NAMESPACE)
    }

    assert wanted - given == set()


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_components_go_together(pair: tuple[str, str], tmp_path: Path) -> None:
    """Any two components can be had together, where they make sense together, and both leave their marks."""
    paths = [os.path.relpath(MANIFESTS / part, tmp_path) for part in ("base", *(f"components/{name}" for name in pair))]
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(kustomization | {"resources": paths[:1], "components": paths[1:]}))

    text = json.dumps(build_of(tmp_path))

    assert [name for name in pair if MARKS[name] not in text] == []


def test_every_component_is_tried() -> None:
    """The table of marks has each component."""
    assert {path.name for path in (MANIFESTS / "components").iterdir()} == MARKS.keys()


def test_existing_etcd_has_no_etcd() -> None:
    """Nothing of the own etcd is left where there is another one, and its address is nobody's business but the Secret's."""
    text = json.dumps(built("overlays/existing-etcd"))

    assert "StatefulSet" not in text
    assert "apiext-etcd-0" not in text
    (container,) = containers(one(built("overlays/existing-etcd"), "Deployment", "apiext"))
    assert container["env"] == [{"name": "ETCD_SERVERS", "valueFrom": {"secretKeyRef": {"name": "apiext-etcd", "key": "servers"}}}]


def test_cert_manager_has_the_right_names() -> None:
    """The certificate that cert-manager makes is for the name by which kube-apiserver calls, in the Secret that is mounted."""
    certificate = one(built("overlays/cert-manager"), "Certificate", "apiext-serving")["spec"]

    assert certificate["dnsNames"][0] == f"apiext.{NAMESPACE}.svc"
    assert certificate["secretName"] == "apiext-serving"


def test_members_of_etcd_have_their_names() -> None:
    """The certificate of etcd names each member as the others know it."""
    documents = built("overlays/cert-manager")
    (container,) = containers(one(documents, "StatefulSet", "apiext-etcd"))
    peers = [urlsplit(peer.partition("=")[2]) for peer in _flags(container)["--initial-cluster"].split(",")]

    assert {peer.scheme for peer in peers} == {"https"}
    assert [peer.hostname for peer in peers] == one(documents, "Certificate", "apiext-etcd")["spec"]["dnsNames"]
