"""Webhook configurations, policies and namespaces from the host."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import pytest

from apiext.api.admission.sources import AdmissionPhase, RequestPlace
from apiext.base.meta.request import AdmissionOperation
from apiext.server.host.admission_sources import RESOURCES, HostSources, is_freeze, open_host_sources
from tests.support.captured_logs import logged
from tests.support.event_loop import until, until_answered
from tests.support.servers.object_host import ObjectHost

V1: Final = "/apis/admissionregistration.k8s.io/v1"
KINDS: Final = {plural: f"Kind{number}" for number, plural in enumerate(RESOURCES)}
PLACE: Final = RequestPlace("example.com", "widgets", "", AdmissionOperation.CREATE)
RULES: Final = [{"apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["widgets"], "operations": ["*"]}]
HOOK: Final = {"name": "h", "rules": RULES}
LABELS: Final = {"app.kubernetes.io/managed-by": "apiext"}
ANNOTATIONS: Final = {"apiext.dev/service": "ns/apiext"}


@pytest.fixture
async def host() -> AsyncIterator[ObjectHost]:
    """Provide a host with namespaces and all kinds of admission."""
    async with ObjectHost() as host:
        host.serve("/api/v1", "namespaces", "Namespace")
        host.serve("/api/v1", "configmaps", "ConfigMap", namespaced=True)
        for plural, kind in KINDS.items():
            host.serve(V1, plural, kind)
        yield host


@asynccontextmanager
async def opened(host: ObjectHost, *disabled: str) -> AsyncIterator[HostSources]:
    """Follow the host."""
    async with AsyncExitStack() as stack:
        yield open_host_sources(host.client, disabled, stack)


def policy(host: ObjectHost, name: str, *, api: str = V1, **spec: Any) -> None:
    """Create a policy with a binding of its name."""
    host.put(f"{api}/validatingadmissionpolicies", name, spec={"matchConstraints": {"resourceRules": RULES}, **spec})
    host.put(f"{api}/validatingadmissionpolicybindings", name, spec={"policyName": name})


async def policies(sources: HostSources) -> list[str]:
    """Return the names of the policies for the place."""
    return [entry.policy["metadata"]["name"] for entry in await sources.configurations.policies(AdmissionPhase.VALIDATING, PLACE)]


async def found(sources: HostSources, *names: str) -> bool:
    """Return whether exactly these policies are there for the place."""
    return await policies(sources) == list(names)


async def lacks_webhooks(sources: HostSources) -> bool:
    """Return whether there are no webhooks for the place."""
    return not await sources.configurations.webhooks(AdmissionPhase.VALIDATING, PLACE)


async def test_follows_the_host(host: ObjectHost) -> None:
    """Find webhooks and policies of the host, and each change at once; all informers are synced then."""
    host.put(f"{V1}/validatingwebhookconfigurations", "c", webhooks=[HOOK])
    async with opened(host) as sources:
        [entry] = await sources.configurations.webhooks(AdmissionPhase.VALIDATING, PLACE)
        assert entry.uid == "c/h/0"
        assert await policies(sources) == []
        await until(lambda: all(f"watch {V1}/{plural}" in host.asked for plural in RESOURCES))
        assert all(informer.synced for informer in sources.informers)
        assert len(sources.informers) == len(RESOURCES) + 1

        policy(host, "p")
        await until_answered(lambda: found(sources, "p"))
        host.remove(f"{V1}/validatingwebhookconfigurations", "c")
        await until_answered(lambda: lacks_webhooks(sources))


async def test_leaves_definitions_alone(host: ObjectHost) -> None:
    """Find nothing for definitions: what apiext has of the host's has been admitted there."""
    everything = [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"]}]
    host.put(f"{V1}/validatingwebhookconfigurations", "c", webhooks=[{"name": "h", "rules": everything}])
    place = RequestPlace("apiextensions.k8s.io", "customresourcedefinitions", "", AdmissionOperation.UPDATE)
    async with opened(host) as sources:
        assert len(await sources.configurations.webhooks(AdmissionPhase.VALIDATING, PLACE)) == 1
        assert await sources.configurations.webhooks(AdmissionPhase.VALIDATING, place) == ()
        assert await sources.configurations.policies(AdmissionPhase.VALIDATING, place) == ()


async def test_reads_older_versions(host: ObjectHost) -> None:
    """Follow policies in the newest version that the host serves; a kind that it does not serve has no objects."""
    for plural in RESOURCES[2:]:
        host.drop(V1, plural)
    beta = "/apis/admissionregistration.k8s.io/v1beta1"
    for plural in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        host.serve(beta, plural, KINDS[plural])
    policy(host, "p", api=beta)

    async with opened(host) as sources:
        assert await policies(sources) == ["p"]
        assert await sources.configurations.policies(AdmissionPhase.MUTATING, PLACE) == ()


async def test_begins_again_without_a_kind(host: ObjectHost) -> None:
    """Find a kind in another version after the host has dropped the one that was followed."""
    policy(host, "p")
    async with opened(host) as sources:
        assert await policies(sources) == ["p"]
        await until(lambda: f"watch {V1}/validatingadmissionpolicies" in host.asked)
        host.drop(V1, "validatingadmissionpolicies")
        beta = "/apis/admissionregistration.k8s.io/v1beta1"
        host.serve(beta, "validatingadmissionpolicies", "Policy")
        host.put(f"{beta}/validatingadmissionpolicies", "p", spec={"matchConstraints": {"resourceRules": RULES}, "variables": []})

        await until(lambda: f"watch {beta}/validatingadmissionpolicies" in host.asked)
        assert await policies(sources) == ["p"]


async def test_stays_unsynced_when_refused(host: ObjectHost) -> None:
    """Stay unsynced while the host refuses a list: writes are refused as by a kube-apiserver whose informer has no list."""
    host.refused.add(f"{V1}/mutatingwebhookconfigurations")
    async with opened(host) as sources:
        await until(lambda: f"get {V1}/mutatingwebhookconfigurations" in host.asked)
        await until(lambda: sum(not informer.synced for informer in sources.informers) == 1)

        assert [one.type_name for one in sources.informers if not one.synced] == ["*v1.MutatingWebhookConfiguration"]


async def test_skips_disabled_plugins(host: ObjectHost) -> None:
    """Read nothing for plug-ins that are disabled."""
    async with opened(host, "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy") as sources:
        await until(lambda: f"watch {V1}/validatingwebhookconfigurations" in host.asked)

        assert [informer.type_name for informer in sources.informers] == ["*v1.Namespace", "*v1.ValidatingWebhookConfiguration"]
    assert {one.rpartition("/")[2] for one in host.asked} == {"v1", "validatingwebhookconfigurations", "namespaces"}


async def test_ignores_the_freeze_policy(host: ObjectHost) -> None:
    """Ignore the policy that freezes the host's own copies of a group, from the moment when a policy becomes it."""
    freeze = {"name": "apiext-example.com", "labels": LABELS, "annotations": ANNOTATIONS}
    policy(host, "apiext-example.com")
    policy(host, "other")
    async with opened(host) as sources:
        assert await policies(sources) == ["apiext-example.com", "other"]
        await until(lambda: f"watch {V1}/validatingadmissionpolicies" in host.asked)
        host.put(
            f"{V1}/validatingadmissionpolicies", "apiext-example.com", metadata=freeze, spec={"matchConstraints": {"resourceRules": RULES}}
        )
        await until_answered(lambda: found(sources, "other"))
    async with opened(host) as sources:
        assert await policies(sources) == ["other"]


@pytest.mark.parametrize("change", [{"name": "mine"}, {"labels": {}}, {"annotations": {}}])
def test_knows_the_freeze_policy(change: dict[str, Any]) -> None:
    """Tell the operator's policy by its name, label and annotation together."""
    metadata = {"name": "apiext-example.com", "labels": LABELS, "annotations": ANNOTATIONS}

    assert is_freeze({"metadata": metadata})
    assert not is_freeze({"metadata": {**metadata, **change}})


def _tasks(name: str) -> list[str]:
    return [found for task in asyncio.all_tasks() if (found := task.get_name()) == name]


async def test_follows_params_of_bound_policies(host: ObjectHost) -> None:
    """Follow the kind of a policy's parameters while the policy has a binding."""
    host.put(f"{V1}/validatingadmissionpolicies", "p", spec={"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}})
    async with opened(host):
        await until(lambda: all(f"watch {V1}/{plural}" in host.asked for plural in RESOURCES))
        assert "get /api/v1/configmaps" not in host.asked
        host.put(f"{V1}/validatingadmissionpolicybindings", "b", spec={"policyName": "p"})
        await until(lambda: "watch /api/v1/configmaps" in host.asked)
        assert _tasks("params-ConfigMap")
        host.remove(f"{V1}/validatingadmissionpolicies", "p")
        await until(lambda: not _tasks("params-ConfigMap"))


async def test_logs_a_refusal_once(host: ObjectHost, caplog: pytest.LogCaptureFixture) -> None:
    """Log once that the host refuses a list, and try again soon."""
    path = f"{V1}/validatingwebhookconfigurations"
    host.refused.add(path)
    async with opened(host) as sources:
        await until(lambda: host.asked.count(f"get {path}") == 2)
        host.refused.clear()
        await until(lambda: all(informer.synced for informer in sources.informers))

    lines = [line["event"] for line in logged(caplog) if line.get("what") == "validatingwebhookconfigurations"]
    assert lines == ["list or watch failed, retrying; writes are refused before the first list"]


async def test_knows_namespaces(host: ObjectHost) -> None:
    """Return whole namespaces."""
    host.put("/api/v1/namespaces", "n", metadata={"labels": {"a": "b"}})
    async with opened(host) as sources:
        namespace = await sources.namespaces.namespace("n")

        assert namespace is not None
        assert namespace["metadata"]["labels"] == {"a": "b"}
