"""Tests of webhook configurations and policies from files."""

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.api.admission.sources import AdmissionPhase, RequestPlace
from apiext.api.serving.static_manifests.static_source import ManifestError, ReloadStats, StaticSource
from apiext.base.meta.request import AdmissionOperation
from tests.support.event_loop import until

V1: Final = "admissionregistration.k8s.io/v1"
PLACE: Final = RequestPlace("a.example.com", "widgets", "", AdmissionOperation.CREATE)
_RULE: Final = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
HOOK: Final[dict[str, Any]] = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://a.example.com"},
    "rules": [_RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}


def _webhooks(name: str, *hooks: dict[str, Any], kind: str = "ValidatingWebhookConfiguration") -> dict[str, Any]:
    return {"apiVersion": V1, "kind": kind, "metadata": {"name": name}, "webhooks": list(hooks or (HOOK,))}


def _policy(name: str, **more: Any) -> dict[str, Any]:
    spec = {"matchConstraints": {"resourceRules": [_RULE]}, "validations": [{"expression": "true"}], **more}
    return {"apiVersion": V1, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec}


def _binding(name: str, policy: str, **more: Any) -> dict[str, Any]:
    spec = {"policyName": policy, "validationActions": ["Deny"], **more}
    return {"apiVersion": V1, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": spec}


def _write(path: Path, *documents: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump_all(documents))


class Files:
    """A folder with the files of a plug-in."""

    def __init__(self, folder: Path, plugin: str) -> None:
        self.index = ConfigurationIndex()
        for follower in self.index.followers.values():
            follower.replaced([])
        self.stats = ReloadStats("server")
        self.folder = folder
        self.source = StaticSource(plugin, folder, self.index.file_followers, self.stats)

    async def hooks(self) -> list[str]:
        """Return the uids of the webhooks."""
        return [entry.uid for entry in await self.index.webhooks(AdmissionPhase.VALIDATING, PLACE)]

    async def policies(self) -> list[str]:
        """Return the names of the policies with bindings."""
        return [entry.policy["metadata"]["name"] for entry in await self.index.policies(AdmissionPhase.VALIDATING, PLACE)]


async def test_webhooks(tmp_path: Path) -> None:
    """Load the files in the order of their names, lists included, with defaults and uids of their own."""
    _write(tmp_path / "b.yaml", _webhooks("b.static.k8s.io"), {"apiVersion": "v1", "kind": "List", "items": [_webhooks("c.static.k8s.io")]})
    items = [_webhooks("a.static.k8s.io", HOOK, HOOK | {"name": "b.example.com"})]
    listed = {"apiVersion": V1, "kind": "ValidatingWebhookConfigurationList", "items": items}
    _write(tmp_path / "a.json", listed)
    (tmp_path / "notes.txt").write_text("not read")
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "more.yaml").mkdir()
    files = Files(tmp_path, "ValidatingAdmissionWebhook")

    await files.source.load()
    names = ("a.static.k8s.io/a", "a.static.k8s.io/b", "b.static.k8s.io/a", "c.static.k8s.io/a")
    assert await files.hooks() == [f"manifest/{name}.example.com/0" for name in names]
    entry = (await files.index.webhooks(AdmissionPhase.VALIDATING, PLACE))[0]
    assert (entry.hook["timeoutSeconds"], entry.hook["rules"][0]["scope"]) == (10, "*")
    assert files.stats.counts == {("success", "ValidatingAdmissionWebhook"): 1}
    assert files.stats.digests["ValidatingAdmissionWebhook"].startswith("sha256:")


async def test_policies(tmp_path: Path) -> None:
    """Load policies with their bindings."""
    _write(tmp_path / "a.yaml", _binding("b.static.k8s.io", "p.static.k8s.io"), _policy("p.static.k8s.io"), _policy("q.static.k8s.io"))
    files = Files(tmp_path, "ValidatingAdmissionPolicy")

    await files.source.load()
    assert await files.policies() == ["p.static.k8s.io"]


@pytest.mark.parametrize(
    "documents, problem",
    [
        ([_webhooks("a")], '"a" in file "{path}" must have a name ending with ".static.k8s.io"'),
        ([_webhooks("a.static.k8s.io"), _webhooks("a.static.k8s.io")], 'duplicate name "a.static.k8s.io" found in file "{path}"'),
        ([_webhooks("a.static.k8s.io") | {"unknown": 1}], 'strict decoding error: unknown field "unknown"'),
        ([_webhooks("a.static.k8s.io", HOOK | {"name": "a"})], 'ValidatingWebhookConfiguration "a.static.k8s.io": webhooks[0].name: '),
        ([_webhooks("a.static.k8s.io") | {"webhooks": 1}], "cannot unmarshal number"),
        ([_webhooks("a.static.k8s.io", kind="MutatingWebhookConfiguration")], "unsupported resource type"),
        ([_webhooks("a.static.k8s.io") | {"apiVersion": "v1"}], "unsupported resource type v1, Kind=ValidatingWebhookConfiguration"),
        (
            [_webhooks("a.static.k8s.io", HOOK | {"clientConfig": {"service": {"namespace": "a", "name": "b"}}})],
            'webhook "a.example.com" in "a.static.k8s.io" (file "{path}"): clientConfig.service is not supported for static manifests',
        ),
    ],
)
async def test_invalid_webhooks(tmp_path: Path, documents: list[dict[str, Any]], problem: str) -> None:
    """Say what is wrong, and in which file."""
    path = tmp_path / "a.yaml"
    _write(path, *documents)

    with pytest.raises(ManifestError) as caught:
        await Files(tmp_path, "ValidatingAdmissionWebhook").source.load()
    assert str(caught.value).startswith(f"error loading {path}: ")
    assert problem.format(path=path) in str(caught.value)


@pytest.mark.parametrize(
    "documents, problem",
    [
        (
            [_policy("p.static.k8s.io", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})],
            'ValidatingAdmissionPolicy "p.static.k8s.io": spec.paramKind is not supported for static manifests',
        ),
        ([_binding("b.static.k8s.io", "p")], 'binding "b.static.k8s.io": spec.policyName "p" must end with ".static.k8s.io"'),
        (
            [
                _policy("p.static.k8s.io"),
                _binding("b.static.k8s.io", "p.static.k8s.io", paramRef={"name": "a", "parameterNotFoundAction": "Deny"}),
            ],
            'binding "b.static.k8s.io": spec.paramRef is not supported for static manifests',
        ),
        (
            [_binding("b.static.k8s.io", "p.static.k8s.io")],
            'binding "b.static.k8s.io" references policy "p.static.k8s.io" which does not exist in the manifest directory',
        ),
    ],
)
async def test_invalid_policies(tmp_path: Path, documents: list[dict[str, Any]], problem: str) -> None:
    """Say what is wrong."""
    _write(tmp_path / "a.yaml", *documents)

    with pytest.raises(ManifestError) as caught:
        await Files(tmp_path, "ValidatingAdmissionPolicy").source.load()
    assert problem in str(caught.value)


async def test_reloads(tmp_path: Path) -> None:
    """Follow the files. Those that cannot be used change nothing but the count of failures."""
    files = Files(tmp_path, "ValidatingAdmissionWebhook")
    await files.source.load()
    assert await files.hooks() == []
    following = asyncio.create_task(files.source.follow())
    counts = files.stats.counts

    _write(tmp_path / "a.yaml", _webhooks("a.static.k8s.io"))
    await until(lambda: counts["success", "ValidatingAdmissionWebhook"] == 2)
    assert await files.hooks() == ["manifest/a.static.k8s.io/a.example.com/0"]
    first = files.stats.digests["ValidatingAdmissionWebhook"]
    _write(tmp_path / "a.yaml", _webhooks("a"))
    await until(lambda: counts.get(("failure", "ValidatingAdmissionWebhook")))
    assert await files.hooks() == ["manifest/a.static.k8s.io/a.example.com/0"]
    assert files.stats.digests["ValidatingAdmissionWebhook"] == first
    (tmp_path / "a.yaml").unlink()
    await until(lambda: counts["success", "ValidatingAdmissionWebhook"] == 3)
    assert (await files.hooks(), files.stats.digests["ValidatingAdmissionWebhook"]) == ([], "")

    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
