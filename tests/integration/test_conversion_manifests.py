"""Tests of the manifests of the conversion webhook."""

import pytest

from apiext.base.meta.time import parse_duration
from apiext.cli.conversions.convert import convert
from apiext.operator.conversionserver.installation import COMPONENT
from apiext.operator.conversionserver.options import read_options
from apiext.resources.conversion.rules.definition import conversion_definition
from apiext.resources.conversion.rules.model import DEFINITION, PLURAL
from hack.lib.manifests import CONVERSION_BUILDS, NAMESPACE, Document, arguments, built, containers, one, rules

ACCOUNT = "apiext-conversions"


@pytest.fixture(params=CONVERSION_BUILDS)
def documents(request: pytest.FixtureRequest) -> list[Document]:
    """Return the documents of each build."""
    return built(request.param)


def _container(documents: list[Document]) -> Document:
    (container,) = containers(one(documents, "Deployment", ACCOUNT))
    return container


def test_pods_are_confined(documents: list[Document]) -> None:
    """Run pods as the restricted Pod Security Standard wants, with a read-only image and resource requests."""
    pod = one(documents, "Deployment", ACCOUNT)["spec"]["template"]["spec"]
    container = _container(documents)

    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), 65532),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert one(documents, "Namespace", NAMESPACE, "")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_flags_are_valid(documents: list[Document]) -> None:
    """Start a command with flags that it has, and that agree."""
    name, *flags = arguments(_container(documents))[1:]
    with convert.commands[name].make_context(name, [flag for flag in flags if "=/etc" not in flag]) as context:
        assert context.args == []
        problems = [] if "--manage-serving-secret" not in flags else [read_options(context.params).target.service]
    service = one(documents, "Service", ACCOUNT)

    assert problems in ([], [(NAMESPACE, service["metadata"]["name"])])
    assert f"--service-port={service['spec']['ports'][0]['port']}" in flags
    assert f"--secure-port={_container(documents)['ports'][0]['containerPort']}" in flags


def test_pods_stop_gracefully(documents: list[Document]) -> None:
    """Serve after SIGTERM until no new connections come, with enough time for requests in flight."""
    deployment, container = one(documents, "Deployment", ACCOUNT), _container(documents)
    flags = dict(flag.partition("=")[::2] for flag in arguments(container))
    delay = parse_duration(flags["--shutdown-delay-duration"])

    assert deployment["spec"]["replicas"] >= 2
    assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert delay >= container["readinessProbe"]["periodSeconds"] * 3
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > delay + 30


def test_selectors_agree(documents: list[Document]) -> None:
    """Select the pods in the Service, the budget and the policy."""
    labels = one(documents, "Deployment", ACCOUNT)["spec"]["template"]["metadata"]["labels"]
    selectors = [
        one(documents, "Service", ACCOUNT)["spec"]["selector"],
        one(documents, "PodDisruptionBudget", ACCOUNT)["spec"]["selector"]["matchLabels"],
        one(documents, "NetworkPolicy", ACCOUNT)["spec"]["podSelector"]["matchLabels"],
    ]

    assert all(selector.items() <= labels.items() for selector in selectors)


def test_rights_are_least(documents: list[Document]) -> None:
    """Give the rights listed here; those to the Secret only where the webhook makes the certificate."""
    given = {
        f"{','.join(rule['verbs'])} {resource}{''.join(f' {name}' for name in rule.get('resourceNames', ()))} {place}".strip()
        for place, rule in rules(documents, ACCOUNT)
        for resource in rule["resources"]
    }
    own_secret = {f"create secrets {NAMESPACE}", f"get,list,watch,update secrets apiext-conversions-serving {NAMESPACE}"}

    assert given - own_secret == {
        "get,list,watch,patch customresourcedefinitions",
        "get,list,watch,patch compositeresourcedefinitions",
        f"list,watch {PLURAL}",
        f"patch {PLURAL}/status",
        f"create leases {NAMESPACE}",
        f"get,update leases {COMPONENT} {NAMESPACE}",
        "create,patch events default",
    }
    makes_certificate = "--manage-serving-secret" in arguments(_container(documents))
    assert (given & own_secret == own_secret) is makes_certificate


def test_cert_manager_has_the_right_names() -> None:
    """Issue the certificate for the name that kube-apiserver uses, into the mounted Secret."""
    documents = built("conversion/cert-manager")
    certificate = one(documents, "Certificate", "apiext-conversions-serving")["spec"]
    volumes = one(documents, "Deployment", ACCOUNT)["spec"]["template"]["spec"]["volumes"]
    files = {flag for flag in arguments(_container(documents)) if "/etc/apiext/serving/" in flag}

    assert certificate["dnsNames"][0] == f"{ACCOUNT}.{NAMESPACE}.svc"
    assert certificate["secretName"] in {volume.get("secret", {}).get("secretName") for volume in volumes}
    assert files == {
        "--tls-cert-file=/etc/apiext/serving/tls.crt",
        "--tls-private-key-file=/etc/apiext/serving/tls.key",
        "--ca-file=/etc/apiext/serving/ca.crt",
    }
    assert not any("serving-secret" in flag for flag in arguments(_container(documents)))


def test_the_definition_is_that_of_the_rules(documents: list[Document]) -> None:
    """Install the CRD that `apiext convert definition` prints."""
    found = one(documents, "CustomResourceDefinition", DEFINITION, "")
    wanted = conversion_definition()

    assert found["spec"] == wanted["spec"]
