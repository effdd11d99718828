"""Tests of the real kubectl with the sample definitions, on every store."""

from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.kubectl import Kubectl

CRDS: Final = Path(__file__).parents[2] / "crds" / "examples"
SAMPLES: Final = CRDS.with_name("samples")


@pytest.fixture(scope="module")
def kubectl(server: ApiextServer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Return kubectl for a server that has the sample definitions."""
    kubectl = Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))
    kubectl("apply", "-f", str(CRDS))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=40s")
    return kubectl


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> str:
    """Create a namespace for one test."""
    name = request.node.originalname.replace("_", "-")
    kubectl("create", "namespace", name)
    return str(name)


def test_samples(kubectl: Kubectl, namespace: str) -> None:
    """Apply all samples, apply them again without a change, show their columns, and delete them."""
    versions = ("get", "-n", namespace, "fleets,backups,teams", "-o", "jsonpath={.items[*].metadata.resourceVersion}")
    first = kubectl("apply", "-n", namespace, "-f", str(SAMPLES))
    before = kubectl(*versions)
    kubectl("apply", "-n", namespace, "-f", str(SAMPLES))
    after = kubectl(*versions)
    shown = kubectl("get", "-n", namespace, "fleets,backups,teams", "-o", "wide")
    kubectl("delete", "-n", namespace, "-f", str(SAMPLES), "--wait=true")

    assert first.count("created") == 4
    assert before == after
    assert [line.split()[:2] for line in shown.splitlines() if line.startswith("fleet")] == [
        ["fleet.apps.example.com/mailer", "1"],
        ["fleet.apps.example.com/web", "3"],
    ]
    assert "DESIRED" in shown
    assert "LAST SUCCESS" in shown
    assert "12500.5" in shown
    assert kubectl("get", "-n", namespace, "fleets,backups", "-o", "name") == ""


def test_discovery(kubectl: Kubectl) -> None:
    """Find resources by plural, singular, kind, short name and category, and explain them."""
    resources = kubectl("api-resources", "--api-group=apps.example.com", "--no-headers").split()
    assert resources == ["fleets", "fl", "apps.example.com/v1", "true", "Fleet"]
    for name in ("fleets", "fleet", "Fleet", "fl", "fleets.apps.example.com", "fleets.v1.apps.example.com", "all"):
        assert kubectl.run("get", name, "-n", "kube-public").returncode == 0, name
    assert "How many backups are kept." in kubectl("explain", "backup.spec.keep")
    assert "RollingUpdate" in kubectl("explain", "fleet.spec.strategy.type")


def test_cluster_info(kubectl: Kubectl, server: ApiextServer) -> None:
    """Show the server's address, and its Service alone, which is read-only."""
    info = kubectl("cluster-info", NO_COLOR="1")
    assert info.splitlines()[0] == f"Kubernetes control plane is running at {server.url}"
    services = kubectl.json("get", "services", "-A")["items"]
    assert [(one["metadata"]["name"], one["spec"]["ports"][0]["targetPort"]) for one in services] == [("kubernetes", server.port)]
    assert kubectl("get", "svc/kubernetes", "--no-headers").split()[:3] == ["kubernetes", "ClusterIP", "10.0.0.1"]
    assert "does not allow this method" in kubectl.refused("create", "service", "clusterip", "other", "--tcp=80")


def test_changing(kubectl: Kubectl, namespace: str) -> None:
    """Apply edit, patch, label, annotate, scale, replace and a status, each with its own effect."""
    here = ("-n", namespace)
    kubectl("create", *here, "-f", str(SAMPLES / "fleets.yaml"))
    kubectl("label", *here, "fleet", "web", "a=b")
    kubectl("annotate", *here, "fleet", "web", "x=y")
    kubectl("scale", *here, "fleet/web", "--replicas=5")
    kubectl("patch", *here, "fleet", "web", "--type=merge", "-p", '{"spec":{"image":"other"}}')
    kubectl("patch", *here, "fleet", "web", "--type=json", "-p", '[{"op":"add","path":"/spec/env/B","value":"c"}]')
    kubectl("patch", *here, "fleet", "web", "--subresource=status", "--type=merge", "-p", '{"status":{"phase":"Ready"}}')
    kubectl("wait", *here, "fleet/web", "--for=jsonpath={.status.phase}=Ready", "--timeout=40s")
    kubectl("edit", *here, "fleet", "web", EDITOR='sed -i "s/replicas: 5/replicas: 6/"')

    fleet = kubectl.json("get", *here, "fleet", "web")
    assert fleet["metadata"]["labels"] == {"tier": "front", "a": "b"}
    assert fleet["metadata"]["annotations"] == {"x": "y"}
    assert fleet["spec"]["replicas"] == 6
    assert fleet["spec"]["image"] == "other"
    assert fleet["spec"]["env"] == {"LOG_LEVEL": "info", "B": "c"}
    assert fleet["status"] == {"phase": "Ready"}
    described = kubectl("describe", *here, "fleet", "web")
    assert "Max Unavailable:  25%" in described
    replaced = kubectl("replace", *here, "--force", "-f", str(SAMPLES / "fleets.yaml"))
    assert replaced.count("replaced") == 2
    assert "labels" in kubectl("get", *here, "fleet", "web", "-o", "yaml")


def test_selecting(kubectl: Kubectl, namespace: str) -> None:
    """Select by labels and selectable fields, in pages and in all namespaces."""
    here = ("-n", namespace, "-o", "name")
    kubectl("create", "-n", namespace, "-f", str(SAMPLES / "fleets.yaml"))

    assert kubectl("get", "fleets", *here, "-l", "tier=front") == "fleet.apps.example.com/web\n"
    assert kubectl("get", "fleets", *here, "--field-selector", "metadata.name=mailer") == "fleet.apps.example.com/mailer\n"
    image = "spec.image=registry.example.com/shop/mailer:0.9"
    assert kubectl("get", "fleets", *here, "--field-selector", image) == "fleet.apps.example.com/mailer\n"
    assert kubectl("get", "fleets", *here, "--chunk-size=1").count("fleet") == 2
    assert namespace in kubectl("get", "fleets", "-A")
    assert "field label not supported: spec.x" in kubectl.refused("get", "fleets", *here, "--field-selector", "spec.x=1")


def test_watching(kubectl: Kubectl, namespace: str) -> None:
    """Print the objects and every change as table rows with `get -w`."""
    kubectl("create", "-n", namespace, "-f", str(SAMPLES / "fleets.yaml"))
    with kubectl.watching("get", "-n", namespace, "fleets", "-w", "--output-watch-events") as lines:
        assert [next(lines).split()[:3] for _ in range(3)] == [
            ["EVENT", "NAME", "DESIRED"],
            ["ADDED", "mailer", "1"],
            ["ADDED", "web", "3"],
        ]
        kubectl("scale", "-n", namespace, "fleet/web", "--replicas=7")
        assert next(lines).split()[:3] == ["MODIFIED", "web", "7"]
        kubectl("delete", "-n", namespace, "fleet", "web")
        assert next(lines).split()[:2] == ["DELETED", "web"]


def test_versions(kubectl: Kubectl, namespace: str) -> None:
    """Return an object in every served version, with a warning for a deprecated one."""
    kubectl("create", "-n", namespace, "-f", str(SAMPLES / "backups.yaml"))
    done = kubectl.run("get", "-n", namespace, "backups.v1.data.example.com", "nightly", "-o", "yaml")

    assert "apiVersion: data.example.com/v1" in done.stdout
    assert "Warning: data.example.com/v1 Backup is deprecated; use data.example.com/v2 Backup" in done.stderr


def test_refusals(kubectl: Kubectl, namespace: str) -> None:
    """Report errors that kubectl finds itself and those of the server."""
    fleet = "apiVersion: apps.example.com/v1\nkind: Fleet\nmetadata: {name: bad}\nspec: {image: x, replicas: %s%s}\n"
    invalid = kubectl.refused("create", "-n", namespace, "--validate=ignore", "-f", "-", stdin=fleet % (1001, ""))
    unknown = kubectl.refused("create", "-n", namespace, "-f", "-", stdin=fleet % (1, ", nope: 1"))
    missing = kubectl.refused("create", "-n", "missing", "-f", "-", stdin=fleet % (1, ""))

    assert "spec.replicas: Invalid value: 1001: spec.replicas in body should be less than or equal to 1000" in invalid
    assert 'unknown field "spec.nope"' in unknown
    assert 'namespaces "missing" not found' in missing


def test_dry_run_and_diff(kubectl: Kubectl, namespace: str) -> None:
    """Store nothing in a server-side dry run; show the changes of an apply with diff."""
    file = ("-n", namespace, "-f", str(SAMPLES / "backups.yaml"))
    assert "created (server dry run)" in kubectl("apply", "--dry-run=server", *file)
    assert kubectl("get", "backups", "-n", namespace, "-o", "name") == ""
    kubectl("apply", *file)
    assert kubectl.run("diff", *file).returncode == 0
    kubectl("patch", "-n", namespace, "backup", "nightly", "--type=merge", "-p", '{"spec":{"target":{"limit":"1Gi"}}}')
    assert "limit: 200Gi" in kubectl.run("diff", *file).stdout


def test_server_side_apply(kubectl: Kubectl, namespace: str) -> None:
    """Apply on the server: conflicts, force, diff, and the managers that show it."""
    fleet = "apiVersion: apps.example.com/v1\nkind: Fleet\nmetadata: {name: shared}\nspec: {image: %s, replicas: %d}\n"
    apply = ("apply", "--server-side", "-n", namespace, "-f", "-")
    assert "serverside-applied" in kubectl(*apply, stdin=fleet % ("one", 1))
    assert "serverside-applied" in kubectl(*apply, stdin=fleet % ("one", 1))
    refused = kubectl.refused(*apply, "--field-manager=other", stdin=fleet % ("two", 1))
    changes = kubectl.run(
        "diff", "--server-side", "--field-manager=other", "--force-conflicts", "-n", namespace, "-f", "-", stdin=fleet % ("two", 1)
    )
    kubectl(*apply, "--field-manager=other", "--force-conflicts", stdin=fleet % ("two", 1))
    kubectl("scale", "-n", namespace, "fleet/shared", "--replicas=3")
    shown = kubectl.json("get", "-n", namespace, "fleet", "shared", "--show-managed-fields")

    assert 'Apply failed with 1 conflict: conflict with "kubectl": .spec.image' in refused
    assert "+  image: two" in changes.stdout
    assert {(entry["manager"], entry["operation"], entry.get("subresource")) for entry in shown["metadata"]["managedFields"]} == {
        ("kubectl", "Update", "scale"),
        ("other", "Apply", None),
    }
    assert "managedFields" not in kubectl("get", "-n", namespace, "fleet", "shared", "-o", "yaml")


def test_migration_to_server_side_apply(kubectl: Kubectl, namespace: str) -> None:
    """Take the fields of client-side apply over without conflicts."""
    fleet = "apiVersion: apps.example.com/v1\nkind: Fleet\nmetadata: {name: moved}\nspec: {image: %s, replicas: 1}\n"
    kubectl("apply", "-n", namespace, "-f", "-", stdin=fleet % "one")
    kubectl("apply", "--server-side", "-n", namespace, "-f", "-", stdin=fleet % "two")
    moved = kubectl.json("get", "-n", namespace, "fleet", "moved")

    assert moved["spec"]["image"] == "two"
    assert '"image":"two"' in moved["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]


def test_server_side_apply_of_definitions(kubectl: Kubectl) -> None:
    """Apply definitions on the server, which also a client-side apply wrote before."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    kubectl("apply", "--server-side", "-f", str(CRDS))
    assert kubectl.run("diff", "--server-side", "-f", str(CRDS)).returncode == 0
    managers = kubectl.json("get", "crd", "fleets.apps.example.com", "--show-managed-fields")["metadata"]["managedFields"]

    assert {(entry["manager"], entry["operation"], entry.get("subresource")) for entry in managers} >= {
        ("kubectl", "Apply", None),
        ("kube-apiserver", "Update", "status"),
    }


def test_deleting_a_namespace(kubectl: Kubectl, namespace: str) -> None:
    """Delete the objects of a deleted namespace."""
    kubectl("create", "-n", namespace, "-f", str(SAMPLES / "fleets.yaml"))
    kubectl("delete", "namespace", namespace, "--timeout=40s")

    assert f'namespaces "{namespace}" not found' in kubectl.refused("get", "namespace", namespace)
    assert kubectl("get", "fleets", "-n", namespace, "-o", "name") == ""


def test_deleting_a_definition(kubectl: Kubectl) -> None:
    """Delete the objects of a deleted definition; the definition is empty when it is created again."""
    kubectl("apply", "-f", str(SAMPLES / "teams.yaml"))
    kubectl("delete", "crd", "teams.org.example.com", "--timeout=40s")
    assert "the server could not find the requested resource" in kubectl.refused("get", "--raw", "/apis/org.example.com/v1/teams")
    kubectl("apply", "-f", str(CRDS / "teams.yaml"))
    kubectl("wait", "--for=condition=Established", "crd/teams.org.example.com", "--timeout=40s")

    assert kubectl("get", "teams", "-o", "name") == ""
