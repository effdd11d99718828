"""The EncryptionConfiguration of a file (apiserver pkg/apis/apiserver/v1, pkg/server/options/encryptionconfig/config.go)."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import field
from apiext.base.meta.configuration import ConfigurationError, parse_configuration
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.time import parse_duration
from apiext.storage.value import validation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_TEXT: Final = {"type": ["string", "null"]}
_KEYS: Final = {
    "type": ["object", "null"],
    "properties": {
        "keys": {
            "type": ["array", "null"],
            "items": {"type": "object", "properties": {"name": _TEXT, "secret": _TEXT}, "additionalProperties": False},
        }
    },
    "additionalProperties": False,
}
_PROVIDER: Final = {
    "type": "object",
    "properties": {
        "aesgcm": _KEYS,
        "aescbc": _KEYS,
        "secretbox": _KEYS,
        "identity": {"type": ["object", "null"], "additionalProperties": False},
        "kms": {
            "type": ["object", "null"],
            "properties": {
                "apiVersion": _TEXT,
                "name": _TEXT,
                "cachesize": {"type": ["integer", "null"]},
                "endpoint": _TEXT,
                "timeout": _TEXT,
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["apiVersion", "kind"],
    "oneOf": [
        {"properties": {"apiVersion": {"const": "apiserver.config.k8s.io/v1"}, "kind": {"const": "EncryptionConfiguration"}}},
        {"properties": {"apiVersion": {"const": "v1"}, "kind": {"const": "EncryptionConfig"}}},
    ],
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "resources": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "properties": {
                    "resources": {"type": ["array", "null"], "items": {"type": "string"}},
                    "providers": {"type": ["array", "null"], "items": _PROVIDER},
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
_DEFAULT_TIMEOUT: Final = "3s"
_DEFAULT_KMS_VERSION: Final = "v1"
_CACHE_SIZE: Final = 1000


@dataclass(frozen=True, slots=True)
class KeyedProvider:
    """A provider with keys in the file: aesgcm, aescbc or secretbox."""

    type: str
    keys: Sequence[tuple[str, bytes]]
    """Names and secrets in order; the first one encrypts."""

    def __repr__(self) -> str:
        return f"KeyedProvider({self.type}, {[name for name, _ in self.keys]})"


@dataclass(frozen=True, slots=True)
class KMSProvider:
    """A KMS plugin of API version v2."""

    name: str
    endpoint: str
    timeout: float
    """Seconds of a call."""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """Values as they are."""


Provider = KeyedProvider | KMSProvider | IdentityProvider


@dataclass(frozen=True, slots=True)
class EncryptedResources:
    """Resources, with "*" for any, and their providers in order: the first one writes, all read."""

    resources: Sequence[GroupResource]
    providers: Sequence[Provider]


@dataclass(frozen=True, slots=True)
class EncryptionConfiguration:
    """The contents of a file, and their hash."""

    resources: Sequence[EncryptedResources]
    digest: str


def read_encryption_configuration(path: Path, *, reload: bool = False) -> EncryptionConfiguration:
    """Return the configuration in a file. With `reload`, check what only files that are reloaded must follow.

    Raises:
        ConfigurationError: the file cannot be read, or is invalid. The message has no secrets.
    """
    data = read_file(path)
    found = parse_configuration(data, _SCHEMA)
    problems = validation.validate(_with_defaults(found), reload=reload)
    if problems:
        raise ConfigurationError(field.aggregate(problems))
    groups = [
        EncryptedResources(tuple(map(parse_resource, each["resources"])), tuple(map(_provider, each["providers"])))
        for each in found["resources"]
    ]
    if masked := validation.masked_rule([each.resources for each in groups]):
        raise ConfigurationError(masked)
    return EncryptionConfiguration(groups, digest(data))


def read_file(path: Path) -> bytes:
    """Return the bytes of a configuration file.

    Raises:
        ConfigurationError: it cannot be read, or is empty.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(error.strerror or str(error)) from error
    if not data:
        raise ConfigurationError("the file is empty")
    return data


def digest(data: bytes) -> str:
    """Return the hash of a file's contents, as metrics show it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def parse_resource(text: str) -> GroupResource:
    """Return the resource of a text such as "secrets" or "deployments.apps"."""
    resource, _, group = text.partition(".")
    return GroupResource(group, resource)


def _with_defaults(found: dict[str, Any]) -> dict[str, Any]:
    """Set the defaults of KMS providers in place."""
    for group in found.get("resources") or ():
        for provider in group.get("providers") or ():
            kms = provider.get("kms")
            if kms is None:
                continue
            kms["timeout"] = _DEFAULT_TIMEOUT if kms.get("timeout") is None else kms["timeout"]
            kms["apiVersion"] = kms.get("apiVersion") or _DEFAULT_KMS_VERSION
            if kms["apiVersion"] == _DEFAULT_KMS_VERSION and kms.get("cachesize") is None:
                kms["cachesize"] = _CACHE_SIZE
    return found


def _provider(found: Mapping[str, Any]) -> Provider:
    type_, value = next((name, value) for name, value in found.items() if value is not None)
    if type_ == "identity":
        return IdentityProvider()
    if type_ != "kms":
        return KeyedProvider(type_, tuple((key["name"], base64.b64decode(key["secret"])) for key in value["keys"]))
    if value["apiVersion"] == _DEFAULT_KMS_VERSION:
        raise ConfigurationError(f"the KMS provider {value['name']} has apiVersion v1, which is deprecated and not supported; use v2")
    return KMSProvider(value["name"], value["endpoint"], parse_duration(value["timeout"]))
