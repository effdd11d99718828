"""Tests of the manifests: the base and the overlays."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click
import pytest

from apiext import __version__
from apiext.base.meta.quantity import parse as parse_quantity
from apiext.base.meta.time import parse_duration
from apiext.cli.main import apiext
from apiext.operator.leader_session import required_permissions
from apiext.server.multiprocess import hung_workers
from hack.lib.manifests import (
    BUILDS,
    CONVERSION_BUILDS,
    NAMESPACE,
    Document,
    arguments,
    build_with,
    built,
    containers,
    one,
    pod_template,
    rules,
)


@pytest.fixture(params=BUILDS)
def documents(request: pytest.FixtureRequest) -> list[Document]:
    """Return the documents of each build."""
    return built(request.param)


@pytest.mark.parametrize("build", [*BUILDS, *CONVERSION_BUILDS])
def test_objects_name_project_and_release(build: str) -> None:
    """Label every object with the project and the release."""
    wanted = {"app.kubernetes.io/part-of": "apiext", "app.kubernetes.io/version": __version__}

    assert [one for one in built(build) if not wanted.items() <= one["metadata"].get("labels", {}).items()] == []


@pytest.mark.parametrize("build", [*BUILDS, *CONVERSION_BUILDS])
def test_priority_classes_have_a_quota(build: str) -> None:
    """Allow the priority classes of the pods by a quota in their namespace."""
    quota = one(built(build), "ResourceQuota", "apiext-critical-pods")["spec"]
    (matched,) = quota["scopeSelector"]["matchExpressions"]
    classes = {pod_template(workload)["spec"].get("priorityClassName") for workload in _workloads(built(build))}

    assert (matched["scopeName"], matched["operator"]) == ("PriorityClass", "In")
    assert classes - {None} == set(matched["values"])


def _workloads(documents: list[Document]) -> list[Document]:
    return [document for document in documents if containers(document)]


def _selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_pods_are_confined(documents: list[Document]) -> None:
    """Run pods without root, writes to the image, more privileges or host access, and with resource requests."""
    for workload in _workloads(documents):
        pod = pod_template(workload)["spec"]
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
            # the image of apiext is built after the release that the manifests name
            assert re.fullmatch(rf"apiext:{__version__}|.+@sha256:[0-9a-f]{{64}}", container["image"])


def test_servers_stop_gracefully(documents: list[Document]) -> None:
    """Serve after SIGTERM until no new connections come, with enough time for requests in flight."""
    deployment = one(documents, "Deployment", "apiext")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = containers(deployment)
    flags = _flags(container)
    delay, timeout = parse_duration(flags["--shutdown-delay-duration"]), parse_duration(flags["--request-timeout"])

    if "--data-dir" in flags:
        assert (deployment["spec"]["strategy"], deployment["spec"]["replicas"]) == ({"type": "Recreate"}, 1)
    else:
        assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
        assert deployment["spec"]["replicas"] >= 2
    probe = container["readinessProbe"]
    assert delay >= probe["periodSeconds"] * 3
    assert pod["terminationGracePeriodSeconds"] > delay + timeout
    assert container["startupProbe"]["httpGet"]["path"] == container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == f"/livez?exclude={'sqlite' if '--data-dir' in flags else 'etcd'}"


def test_names_agree(documents: list[Document]) -> None:
    """Select existing pods and ports in Services, budgets and policies."""
    pods = [pod_template(workload) for workload in _workloads(documents)]
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


def test_pods_are_spread_and_probed(documents: list[Document]) -> None:
    """Spread replicas over nodes, and probe each workload in all three ways on a port that it has."""
    for workload in _workloads(documents):
        if workload["kind"] == "CronJob":
            continue
        pod = workload["spec"]["template"]["spec"]
        assert "kubernetes.io/hostname" in {spread["topologyKey"] for spread in pod["topologySpreadConstraints"]}
        (container,) = containers(workload)
        ports = {port["name"] for port in container["ports"]}
        assert {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} <= ports


def test_servers_have_memory_for_their_load(documents: list[Document]) -> None:
    """Request what a server was measured to need after the load of hack/bench (173 MiB), and limit it above twice of that."""
    (container,) = containers(one(documents, "Deployment", "apiext"))
    wanted, limit = (parse_quantity(container["resources"][part]["memory"]).amount for part in ("requests", "limits"))

    assert wanted >= 173 * 2**20
    assert limit >= 2 * wanted


def test_workers_have_cores_memory_and_time() -> None:
    """Request a core for each worker and 92 MiB (measured) for each further one; limit memory as for so many servers; replace hung ones."""
    (single,), (container,) = (containers(one(built(build), "Deployment", "apiext")) for build in ("base", "overlays/workers"))
    workers = int(_flags(container)["--workers"])
    resources, probe = container["resources"], container["livenessProbe"]

    assert parse_quantity(resources["requests"]["cpu"]).amount >= workers
    assert parse_quantity(resources["requests"]["memory"]).amount >= (173 + 92 * (workers - 1)) * 2**20
    assert parse_quantity(resources["limits"]["memory"]).amount >= workers * parse_quantity(single["resources"]["limits"]["memory"]).amount
    assert probe["failureThreshold"] * probe["periodSeconds"] > (hung_workers.MOST_MISSED + 1) * hung_workers.LOOK_SECONDS
    assert container["readinessProbe"] == single["readinessProbe"]


SERVERS, OPERATORS, MEMBERS, BACKUPS, ANYBODY = "server", "operator", "etcd", "backup", "anybody"
ALLOWED: Final = {
    (ANYBODY, SERVERS, "https"),
    (ANYBODY, OPERATORS, "status"),
    (ANYBODY, MEMBERS, "health"),
    (SERVERS, MEMBERS, "client"),
    (BACKUPS, MEMBERS, "client"),
    (MEMBERS, MEMBERS, "client"),
    (MEMBERS, MEMBERS, "peer"),
}
"""Client, server and port of the connections that policies admit; what anybody may do, the others may do, too."""


def test_policies_admit_these_connections_only(documents: list[Document]) -> None:
    """Admit the connections above, between the pods that a build has, and no others."""
    pods = {
        labels["app.kubernetes.io/component"]: (labels, workload) for workload in _workloads(documents) if (labels := _labels(workload))
    }
    found = set()
    for server, (labels, workload) in pods.items():
        ports = [port["name"] for container in containers(workload) for port in container.get("ports", ())]
        clients = {ANYBODY: dict[str, str](), **{name: own for name, (own, _) in pods.items()}}
        found |= {
            (client, server, port) for client, own in clients.items() for port in ports if _admits(documents, labels, own or None, port)
        }
    everybody = {(client, server, port) for _, server, port in ALLOWED if (ANYBODY, server, port) in ALLOWED for client in pods}

    assert found == {(client, server, port) for client, server, port in ALLOWED | everybody if {client, server} <= {*pods, ANYBODY}}


def _labels(workload: Document) -> dict[str, str]:
    labels: dict[str, str] = pod_template(workload)["metadata"]["labels"]
    return labels


def _admits(documents: list[Document], server: dict[str, str], client: dict[str, str] | None, port: str) -> bool:
    """Return whether the policies admit a connection to a port, from a pod of the namespace or (None) from elsewhere."""
    specs = [document["spec"] for document in documents if document["kind"] == "NetworkPolicy"]
    mine = [spec for spec in specs if "Ingress" in spec["policyTypes"] and _selects(spec["podSelector"].get("matchLabels", {}), server)]
    return not mine or any(
        port in {found["port"] for found in rule["ports"]}
        and ("from" not in rule or any(client and _selects(peer["podSelector"]["matchLabels"], client) for peer in rule["from"]))
        for spec in mine
        for rule in spec.get("ingress", ())
    )


def test_members_of_etcd_call_only_each_other() -> None:
    """Let members of etcd connect to each other and to DNS, and nowhere else."""
    egress = one(built(), "NetworkPolicy", "apiext-etcd")["spec"]["egress"]
    selected = [rule["to"][0]["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for rule in egress if "to" in rule]

    assert selected == [MEMBERS]
    assert [{port["port"] for port in rule["ports"]} for rule in egress if "to" not in rule] == [{53}]


def test_one_server_on_sqlite_has_a_volume_and_no_etcd() -> None:
    """Keep the file on a volume that only one pod mounts."""
    documents = built("overlays/sqlite")
    (container,) = containers(deployment := one(documents, "Deployment", "apiext"))
    (claim,) = [found for found in documents if found["kind"] == "PersistentVolumeClaim"]
    (volume,) = [volume for volume in deployment["spec"]["template"]["spec"]["volumes"] if "persistentVolumeClaim" in volume]
    (mount,) = [mount for mount in container["volumeMounts"] if mount["name"] == volume["name"]]

    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert _flags(container)["--data-dir"] == mount["mountPath"]
    assert "etcd" not in json.dumps(documents)


def test_monitors_select_pods_and_their_ports() -> None:
    """Scrape ports of pods that are there, the servers with the token and the authority that they accept."""
    documents = built("overlays/monitoring")
    pods = {_labels(workload)["app.kubernetes.io/component"]: workload for workload in _workloads(documents)}
    monitors = [document["spec"] for document in documents if document["kind"] == "PodMonitor"]
    scraped = {}
    for monitor in monitors:
        (endpoint,) = monitor["podMetricsEndpoints"]
        component = monitor["selector"]["matchLabels"]["app.kubernetes.io/component"]
        assert endpoint["port"] in {port["name"] for container in containers(pods[component]) for port in container["ports"]}
        scraped[component] = endpoint

    assert scraped.keys() == pods.keys()
    assert scraped[SERVERS]["tlsConfig"]["serverName"] == f"apiext.{NAMESPACE}.svc"
    assert rules(documents, scraped[SERVERS]["authorization"]["credentials"]["name"]) == [
        ("", {"nonResourceURLs": ["/metrics"], "verbs": ["get"]})
    ]


def test_mounts_and_accounts_exist(documents: list[Document]) -> None:
    """Define a volume for each mount, and a budget and an existing service account for each workload."""
    budgets = [document["spec"]["selector"]["matchLabels"] for document in documents if document["kind"] == "PodDisruptionBudget"]
    for workload in _workloads(documents):
        pod = pod_template(workload)
        volumes = {volume["name"] for volume in [*pod["spec"].get("volumes", ())]}
        volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", ())}
        assert volumes == {mount["name"] for container in containers(workload) for mount in container["volumeMounts"]}
        assert workload["kind"] == "CronJob" or [labels for labels in budgets if _selects(labels, pod["metadata"]["labels"])]
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


@pytest.mark.parametrize("with_tls", ["", "existing-etcd", "cert-manager-etcd"])
def test_backups_reach_etcd_as_the_servers_do(with_tls: str, tmp_path: Path) -> None:
    """Run the command with flags that it has, the servers' address and certificates of etcd, a claim, and no credentials of the cluster."""
    documents = build_with(["backup", *([with_tls] if with_tls else [])], tmp_path)
    job, server = one(documents, "CronJob", "apiext-backup"), one(documents, "Deployment", "apiext")
    pod = pod_template(job)
    (backup,), (serving,) = containers(job), containers(server)
    flags = [flag for flag in serving["args"] if flag.startswith("--etcd-")]
    policies = [policy["spec"] for policy in documents if policy["kind"] == "NetworkPolicy" and policy["metadata"]["name"] == "apiext-etcd"]
    admitted = [peer["podSelector"] for policy in policies for rule in policy["ingress"] for peer in rule.get("from", ())]

    with apiext.commands["backup"].make_context("backup", ["/", *arguments(backup)[2:]]) as context:
        assert context.args == []
    assert backup["env"] == serving["env"]
    assert sorted(flags) == sorted(flag for flag in backup["args"] if flag.startswith("--etcd-"))
    assert [volume for volume in pod["spec"]["volumes"] if volume["name"] == "etcd"] == [
        volume for volume in pod_template(server)["spec"]["volumes"] if volume["name"] == "etcd"
    ]
    assert any(_selects(selector["matchLabels"], pod["metadata"]["labels"]) for selector in admitted) or not policies
    one(documents, "PersistentVolumeClaim", "apiext-backups")
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert job["spec"]["concurrencyPolicy"] == "Forbid"


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
