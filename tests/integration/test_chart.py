"""Tests of the Helm chart: the same objects as kustomize builds, and its values."""

import copy
import json
from typing import Any, Final

import pytest
import yaml

from hack.lib.chart.choices import CERT_MANAGER, CONVERSIONS, OPTIONS, STORES, Choice, choices
from hack.lib.chart.templates import CHART, TEMPLATES, templates
from hack.lib.clients import packages
from hack.lib.manifests import NAMESPACE, containers, in_no_order, one, pod_template
from tests.support.clients.helm import Helm

pytestmark = pytest.mark.slow
MANY: Final = [Choice(store, frozenset(OPTIONS) - ({"backup", "workers"} if store == "sqlite" else set())) for store in STORES]
"""All that goes together, on each store."""
PODS: Final = {
    "resources": {"limits": {"cpu": "3"}},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "own", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "extraArgs": ["--one=1", "--two=2"],
}


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Provide Helm."""
    try:
        return Helm(tmp_path_factory.mktemp("helm"))
    except packages.UnavailableError as error:
        pytest.skip(str(error))


def values_of(choice: Choice) -> dict[str, Any]:
    """Return the values of a choice."""
    names = {option: value.split(".")[2] for option, value in OPTIONS.items()}
    return {"store": choice.store, **{name: {"enabled": option in choice.options} for option, name in names.items()}}


def test_templates_are_up_to_date() -> None:
    """Have the templates that hack/chart makes."""
    own = {"_helpers.tpl", "NOTES.txt", "validation.yaml"}
    found = {str(path.relative_to(TEMPLATES)): path.read_text() for path in TEMPLATES.rglob("*.*") if path.name not in own}

    assert found == templates(), "run hack/chart"


@pytest.mark.parametrize("choice", [*choices(), *MANY], ids=lambda choice: "+".join([choice.store, *sorted(choice.options)]))
def test_same_objects_as_kustomize(helm: Helm, choice: Choice) -> None:
    """Render the objects that kustomize builds, without the namespace, and with what Helm keeps."""
    found = helm.documents(values_of(choice))
    for document in found:
        annotations = document["metadata"].get("annotations", {})
        if annotations.pop("helm.sh/resource-policy", None) and not annotations:
            del document["metadata"]["annotations"]

    assert in_no_order(found) == in_no_order(choice.documents())


def test_another_namespace(helm: Helm) -> None:
    """Install into any namespace, under names, addresses and certificates of that namespace."""
    choice = Choice("cert-manager-etcd", frozenset(OPTIONS))

    elsewhere, usual = (helm.documents(values_of(choice), namespace) for namespace in ("another", NAMESPACE))

    assert json.dumps(elsewhere) == json.dumps(usual).replace(NAMESPACE, "another")


def test_data_is_kept() -> None:
    """Keep volumes and Conversion objects when the release is uninstalled or chooses another store."""
    texts = [path.read_text() for path in TEMPLATES.rglob("*.yaml")]
    objects = [part for text in texts for part in text.split("\n---\n") if part.count("\nkind: PersistentVolumeClaim\n")]
    definitions = [text for text in texts if "\nkind: CustomResourceDefinition\n" in text]

    assert (len(objects), len(definitions)) == (2, 1)
    assert all("helm.sh/resource-policy: keep" in text for text in objects + definitions)


def test_settings_of_pods(helm: Helm) -> None:
    """Set resources, flags and places of all pods; leave the other settings as they are."""
    sections = ("servers", "operators", "etcd", "backup", "conversions")
    values = values_of(Choice(options=frozenset({"servers", "backup", CONVERSIONS})))
    usual = [document for document in helm.documents(values) if containers(document)]
    for section in sections:
        values[section] = values.get(section, {}) | PODS
    changed = [document for document in helm.documents(values | {"imagePullSecrets": [{"name": "own"}]}) if containers(document)]

    assert len(changed) == len(sections)
    for before, after in zip(usual, changed, strict=True):
        wanted = copy.deepcopy(before)
        pod = pod_template(wanted)["spec"]
        pod |= {name: PODS[name] for name in ("nodeSelector", "tolerations", "affinity")} | {"imagePullSecrets": [{"name": "own"}]}
        pod["containers"][0] |= {"resources": PODS["resources"], "args": [*pod["containers"][0]["args"], "--one=1", "--two=2"]}
        assert after == wanted


def test_other_settings(helm: Helm) -> None:
    """Set images, replicas, labels of CRDs, volumes, the schedule of backups, and what the alerts carry."""
    digest = f"sha256:{'0' * 64}"
    values = values_of(Choice(options=frozenset(OPTIONS) - {CERT_MANAGER}))
    storage = {"size": "1Ti", "className": "fast"}
    for section, more in {
        "image": {"repository": "registry.example.com/own", "digest": digest},
        "crdSelector": "own=yes",
        "servers": {"replicas": 5},
        "operators": {"replicas": 1},
        "conversions": {"replicas": 4},
        "etcd": {"image": "own/etcd", "storage": storage},
        "backup": {"schedule": "0 1 * * *", "keep": 3, "storage": storage},
        "monitoring": {"labels": {"release": "own"}, "runbookUrl": "https://example.com/runbook"},
    }.items():
        values[section] = values.get(section, {}) | more if isinstance(more, dict) else more

    found = helm.documents(values)

    server, operator, etcd, backup = (
        one(found, kind, name)
        for kind, name in [
            ("Deployment", "apiext"),
            ("Deployment", "apiext-operator"),
            ("StatefulSet", "apiext-etcd"),
            ("CronJob", "apiext-backup"),
        ]
    )
    images = {container["image"] for workload in (server, operator, backup) for container in containers(workload)}
    assert images == {f"registry.example.com/own@{digest}"}
    assert containers(etcd)[0]["image"] == "own/etcd"
    assert [each["spec"]["replicas"] for each in found if each["kind"] == "Deployment"] == [1, 5, 4]
    assert all("--crd-selector=own=yes" in containers(workload)[0]["args"] for workload in (server, operator))
    assert (backup["spec"]["schedule"], "--keep=3" in containers(backup)[0]["args"]) == ("0 1 * * *", True)
    claims = [etcd["spec"]["volumeClaimTemplates"][0], one(found, "PersistentVolumeClaim", "apiext-backups")]
    assert [(claim["spec"]["storageClassName"], claim["spec"]["resources"]["requests"]["storage"]) for claim in claims] == [
        ("fast", "1Ti")
    ] * 2
    rules = one(found, "PrometheusRule", "apiext")
    urls = {rule["annotations"]["runbook_url"] for group in rules["spec"]["groups"] for rule in group["rules"]}
    assert rules["metadata"]["labels"]["release"] == "own"
    assert {url.partition("#")[0] for url in urls} == {"https://example.com/runbook"}


@pytest.mark.parametrize(
    "values,reason",
    [
        ({"store": "sqlite", "backup": {"enabled": True}}, "backup.enabled: the store sqlite has no etcd"),
        ({"store": "sqlite", "workers": {"enabled": True}}, "workers.enabled: not with the store sqlite"),
        ({"store": "sqlite", "servers": {"replicas": 2}}, "servers.replicas: the store sqlite has one server"),
        ({"servers": {"enabled": False}}, "nothing is enabled"),
        ({"store": "postgres"}, "'/store': value must be one of"),
        ({"server": {}}, "additional properties 'server' not allowed"),
        ({"image": {"digest": "latest"}}, "'/image/digest'"),
    ],
)
def test_refuses_values(helm: Helm, values: dict[str, Any], reason: str) -> None:
    """Refuse values that do not go together, unknown ones, and those of another form."""
    assert reason in helm.refused(values)


def test_notes_name_what_pods_wait_for(helm: Helm) -> None:
    """Say after an installation which Secrets and ConfigMaps are missing."""
    values = {"store": "existing-etcd", "hostEtcd": {"enabled": True}, "crdDir": {"enabled": True}}
    notes = helm("install", "apiext", str(CHART), "--dry-run=client", "--hide-notes=false", values=values).partition("NOTES:")[2]

    assert [name for name in ("Secret apiext-etcd", "Secret apiext-host-etcd", "ConfigMap apiext-crds") if name not in notes] == []


def test_lint(helm: Helm) -> None:
    """Have nothing that Helm's linter finds."""
    done = helm.run("lint", str(CHART), "--strict")

    assert done.returncode == 0, done.stdout
    assert "[WARNING]" not in done.stdout
    assert "[ERROR]" not in done.stdout


def test_every_setting_is_in_the_schema() -> None:
    """Describe the settings of values.yaml, and no others."""

    def names(value: Any) -> Any:
        return {name: names(part) for name, part in value.items()} if isinstance(value, dict) and value else None

    schema = json.loads((CHART / "values.schema.json").read_text())

    def described(part: dict[str, Any]) -> Any:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        return {name: described(each) for name, each in part["properties"].items() if name != "global"} if "properties" in part else None

    assert names(yaml.safe_load((CHART / "values.yaml").read_text())) == described(schema)
