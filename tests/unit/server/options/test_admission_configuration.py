"""Tests of the file of --admission-control-config-file."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.server.options.admission_configuration import read_admission_configuration
from apiext.server.start_error import StartError

V1: Final = "apiserver.config.k8s.io/v1"


def _written(folder: Path, *plugins: dict[str, Any], **more: Any) -> Path:
    path = folder / "admission.yaml"
    path.write_text(json.dumps({"apiVersion": V1, "kind": "AdmissionConfiguration", "plugins": list(plugins), **more}))
    return path


def _plugin(name: str, kind: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, "configuration": {"apiVersion": V1, "kind": kind, **settings}}


def test_settings(tmp_path: Path) -> None:
    """Read settings from the file and from files beside it; the first entry of a plug-in applies, and other plug-ins have none."""
    other = {"apiVersion": V1, "kind": "ValidatingAdmissionPolicyConfiguration", "staticManifestsDir": str(tmp_path)}
    (tmp_path / "policies.yaml").write_text(json.dumps(other))
    path = _written(
        tmp_path,
        _plugin("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration", kubeConfigFile="/k"),
        _plugin("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration", kubeConfigFile="/other"),
        _plugin("ValidatingAdmissionWebhook", "WebhookAdmissionConfiguration", staticManifestsDir=str(tmp_path)),
        {"name": "ValidatingAdmissionPolicy", "path": "policies.yaml"},
        {"name": "MutatingAdmissionPolicy"},
        {"name": "PodNodeSelector", "configuration": {"a": 1}},
    )

    found = read_admission_configuration(path)
    assert found.kubeconfigs == {"MutatingAdmissionWebhook": Path("/k")}
    assert found.manifests == {"ValidatingAdmissionWebhook": tmp_path, "ValidatingAdmissionPolicy": tmp_path}


@pytest.mark.parametrize(
    "plugin, problem",
    [
        ({"name": "x", "more": 1}, "'more' was unexpected"),
        (_plugin("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration", more=1), "'more' was unexpected"),
        (_plugin("MutatingAdmissionWebhook", "MutatingAdmissionPolicyConfiguration"), "'WebhookAdmissionConfiguration' was expected"),
        (_plugin("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration", kubeConfigFile="/k"), "was unexpected"),
        (
            _plugin("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration", kubeConfigFile="k"),
            'kubeConfigFile: Invalid value: "k": must be an absolute file path',
        ),
        (
            _plugin("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration", staticManifestsDir="a"),
            'staticManifestsDir: Invalid value: "a": must be an absolute file path',
        ),
        (
            _plugin("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration", staticManifestsDir="/missing/a"),
            'staticManifestsDir: Invalid value: "/missing/a": unable to read: stat /missing/a: no such file or directory',
        ),
        (
            _plugin("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration", staticManifestsDir="/dev/null"),
            'staticManifestsDir: Invalid value: "/dev/null": must be a directory',
        ),
        ({"name": "MutatingAdmissionPolicy", "path": "missing.yaml"}, "missing.yaml: No such file or directory"),
    ],
)
def test_invalid_settings(tmp_path: Path, plugin: dict[str, Any], problem: str) -> None:
    """Name the problem."""
    with pytest.raises(StartError) as caught:
        read_admission_configuration(_written(tmp_path, plugin))
    assert problem in str(caught.value)


def test_folders_need_the_feature(tmp_path: Path) -> None:
    """Refuse folders without the feature."""
    path = _written(tmp_path, _plugin("MutatingAdmissionPolicy", "MutatingAdmissionPolicyConfiguration", staticManifestsDir="/dev"))

    with pytest.raises(StartError, match="requires the ManifestBasedAdmissionControlConfig feature gate to be enabled"):
        read_admission_configuration(path, static_manifests=False)
