"""The file of `--admission-control-config-file`: settings of plug-ins (apiserver pkg/admission/config.go, plugin/*/config)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from apiext.base.meta import field as fields
from apiext.base.meta.configuration import ConfigurationError, parse_configuration
from apiext.server.start_error import StartError

_V1: Final = "apiserver.config.k8s.io/v1"
_WEBHOOKS: Final = "WebhookAdmissionConfiguration"
_KINDS: Final = {
    "MutatingAdmissionPolicy": "MutatingAdmissionPolicyConfiguration",
    "MutatingAdmissionWebhook": _WEBHOOKS,
    "ValidatingAdmissionPolicy": "ValidatingAdmissionPolicyConfiguration",
    "ValidatingAdmissionWebhook": _WEBHOOKS,
}
"""The kinds of configurations by plug-in."""
_FILE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["apiVersion", "kind"],
    "properties": {
        "apiVersion": {"enum": [_V1, "apiserver.k8s.io/v1alpha1"]},
        "kind": {"const": "AdmissionConfiguration"},
        "plugins": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "path": {"type": "string"},
                    "configuration": {"type": ["object", "null"]},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class AdmissionConfiguration:
    """The settings of plug-ins, by their names."""

    kubeconfigs: Mapping[str, Path] = field(default_factory=dict)
    """Files with the users that call webhooks."""
    manifests: Mapping[str, Path] = field(default_factory=dict)
    """Folders with webhook configurations and policies."""


NO_SETTINGS: Final = AdmissionConfiguration()


def read_admission_configuration(path: Path, *, static_manifests: bool = True) -> AdmissionConfiguration:
    """Return the settings in a file. Without `static_manifests`, folders are not allowed.

    Raises:
        StartError: the file, or one that it names, cannot be read or is invalid.
    """
    kubeconfigs: dict[str, Path] = {}
    manifests: dict[str, Path] = {}
    try:
        for entry in parse_configuration(path.read_bytes(), _FILE).get("plugins") or ():
            name = entry.get("name", "")
            if name not in _KINDS or name in kubeconfigs or name in manifests:
                # the first entry of a plug-in applies; other plug-ins have no settings here
                continue
            settings = _settings(entry, name, path.parent)
            if kubeconfig := settings.get("kubeConfigFile"):
                kubeconfigs[name] = _absolute("kubeConfigFile", kubeconfig)
            if folder := settings.get("staticManifestsDir"):
                manifests[name] = _folder(folder, allowed=static_manifests)
    except (ConfigurationError, _SettingError) as error:
        raise StartError(f"--admission-control-config-file: {path}: {error}") from error
    except OSError as error:
        raise StartError(f"--admission-control-config-file: {error.filename or path}: {error.strerror}") from error
    return AdmissionConfiguration(kubeconfigs, manifests)


class _SettingError(ValueError):
    """A setting is invalid."""


def _settings(entry: Mapping[str, Any], plugin: str, base: Path) -> dict[str, Any]:
    """Return the configuration of a plug-in, which is in the file or in another one."""
    schema = _schema(_KINDS[plugin])
    if entry.get("configuration") is not None:
        from apiext.base.meta.encoding import json_codec

        return parse_configuration(json_codec.dumps(entry["configuration"]), schema)
    return parse_configuration((base / entry["path"]).read_bytes(), schema) if entry.get("path") else {}


def _schema(kind: str) -> dict[str, Any]:
    own = {"kubeConfigFile": {"type": "string"}} if kind == _WEBHOOKS else {}
    return {
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"apiVersion": {"const": _V1}, "kind": {"const": kind}, "staticManifestsDir": {"type": "string"}, **own},
        "additionalProperties": False,
    }


def _absolute(name: str, text: str) -> Path:
    if not Path(text).is_absolute():
        raise _SettingError(str(fields.invalid(fields.Path(name), text, "must be an absolute file path")))
    return Path(text)


def _folder(text: str, *, allowed: bool) -> Path:
    where = fields.Path("staticManifestsDir")
    if not allowed:
        reason = "staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled"
        raise _SettingError(str(fields.forbidden(where, reason)))
    folder = _absolute("staticManifestsDir", text)
    if not folder.exists():
        raise _SettingError(str(fields.invalid(where, text, f"unable to read: stat {text}: no such file or directory")))
    if not folder.is_dir():
        raise _SettingError(str(fields.invalid(where, text, "must be a directory")))
    return folder
