"""Validation of an EncryptionConfiguration (apiserver pkg/apis/apiserver/validation/validation_encryption.go)."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from apiext.base.meta.field import OMITTED, FieldError, Path, invalid, required
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.time import duration_nanoseconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_KEY_SIZES: Final = {"aesgcm": (16, 24, 32), "aescbc": (16, 24, 32), "secretbox": (32,)}
_PROVIDERS: Final = "KMS, AESGCM, AESCBC, Secretbox, Identity"
_ANY: Final = GroupResource("*", "*")
_STAR: Final = "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
_OVERLAP: Final = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked"
_EVENTS: Final = "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
_WITHOUT_API: Final = frozenset({"apiserveripinfo", "serviceipallocations", "servicenodeportallocations"})


def validate(configuration: Mapping[str, Any], *, reload: bool) -> list[FieldError]:
    """Return the errors of a configuration that follows its JSON Schema and has its defaults. Bad values with secrets are not shown."""
    root, names = Path("resources"), set[str]()
    groups = configuration.get("resources")
    if not groups:
        return [required(root, f"at least one {root} is required")]
    return [error for index, group in enumerate(groups) for error in _group(group, root.index(index), names, reload=reload)]


def masked_rule(groups: Sequence[Sequence[GroupResource]]) -> str:
    """Return the error of a resource that an earlier wildcard covers; empty without one."""
    seen: set[GroupResource] = set()
    for group in groups:
        for resource in group:
            for rule in (GroupResource(resource.group, "*"), _ANY):
                if rule in seen:
                    return f'resource "{_shown(resource)}" is masked by earlier rule "{_shown(rule)}"'
            seen.add(resource)
    return ""


def _shown(resource: GroupResource) -> str:
    return "*." if resource == GroupResource("", "*") else str(resource)


def _group(group: Mapping[str, Any], path: Path, names: set[str], *, reload: bool) -> Iterator[FieldError]:
    at, resources = path.child("resources"), group.get("resources") or []
    if not resources:
        yield required(at, f"at least one {at} is required")
    yield from _overlap(resources, at)
    for index, resource in enumerate(resources):
        if problem := _name_problem(resource):
            yield invalid(at.index(index), resource, problem)
    at, providers = path.child("providers"), group.get("providers") or []
    if not providers:
        yield required(at, f"at least one {at} is required")
    for index, provider in enumerate(providers):
        yield from _provider_errors(provider, at.index(index), names, reload=reload)


def _overlap(resources: Sequence[str], path: Path) -> Iterator[FieldError]:
    parsed = [_parsed(each) for each in resources]
    distinct = set(parsed)
    if len(distinct) < len(parsed):
        yield invalid(path, resources, "the same resource cannot be specified multiple times")
    groups = [each.group for each in distinct]
    overlaps = any(each.resource == "*" and groups.count(each.group) > 1 for each in distinct)
    if overlaps or (_ANY in distinct and len(distinct) > 1):
        yield invalid(path, resources, _OVERLAP)


def _name_problem(resource: str) -> str:
    if resource.lower() != resource:
        return "resource name should not contain capital letters"
    if resource == "*":
        return _STAR
    if resource in _WITHOUT_API:
        return "resources which do not have REST API/s cannot be encrypted"
    parsed = _parsed(resource)
    if parsed.group == "events.k8s.io":
        return _EVENTS
    if parsed.group == "extensions":
        return "'extensions' group has been removed and cannot be used for encryption"
    if parsed.group == "*" and parsed.resource != "*":
        return "encrypting the same resource across groups is not supported"
    return ""


def _parsed(text: str) -> GroupResource:
    resource, _, group = text.partition(".")
    return GroupResource(group, resource)


def _provider_errors(provider: Mapping[str, Any], path: Path, names: set[str], *, reload: bool) -> Iterator[FieldError]:
    found = [name for name, value in provider.items() if value is not None]
    if not found:
        yield invalid(path, OMITTED, f"provider does not contain any of the expected providers: {_PROVIDERS}")
        return
    if len(found) > 1:
        yield invalid(path, OMITTED, "more than one provider specified in a single element, should split into different list elements")
    for name in ("kms", "aesgcm", "aescbc", "secretbox"):
        if name in found:
            value = provider[name]
            yield from _kms(value, path.child("kms"), names, reload=reload) if name == "kms" else _keys(name, value, path.child(name))
            return


def _keys(type_: str, provider: Mapping[str, Any], path: Path) -> Iterator[FieldError]:
    at, keys = path.child("keys"), provider.get("keys") or []
    if not keys:
        yield required(at, "at least one keys is required")
    for index, key in enumerate(keys):
        yield from _key(key, at.index(index), _KEY_SIZES[type_])


def _key(key: Mapping[str, Any], path: Path, sizes: Sequence[int]) -> Iterator[FieldError]:
    if not key.get("name"):
        yield required(path.child("name"), "name is a mandatory field for a key")
    at, text = path.child("secret"), key.get("secret")
    if not text:
        yield required(at, "secret is a mandatory field for a key")
        return
    try:
        secret = base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        yield invalid(at, "REDACTED", "secrets must be base64 encoded")
        return
    if len(secret) not in sizes:
        expected = " ".join(map(str, sizes))
        yield invalid(at, "REDACTED", f"secret is not of the expected length, got {len(secret)}, expected one of [{expected}]")


def _kms(kms: Mapping[str, Any], path: Path, names: set[str], *, reload: bool) -> Iterator[FieldError]:
    name, version, legacy = kms.get("name") or "", kms["apiVersion"], kms["apiVersion"] == "v1"
    if not name:
        yield required(path.child("name"), "name is a mandatory field for a provider")
    if not legacy and ":" in name:
        yield invalid(path.child("name"), name, f"invalid KMS provider name {name}, must not contain ':'")
    if (reload or not legacy) and name in names:
        yield invalid(path.child("name"), name, f"duplicate KMS provider name {name}, names must be unique")
    names.add(name)
    duration = duration_nanoseconds(kms["timeout"])
    if duration is None or duration <= 0:
        yield invalid(path.child("timeout"), kms["timeout"], "timeout should be a positive value")
    yield from _endpoint(kms.get("endpoint") or "", path.child("endpoint"))
    size = kms.get("cachesize")
    if not legacy and size is not None:
        yield invalid(path.child("cachesize"), size, "cachesize is not supported in v2")
    if legacy and size == 0:
        yield invalid(path.child("cachesize"), size, "cachesize should be a positive value, or negative to disable")
    if version not in {"v1", "v2"}:
        # the reference names the field here, not its value
        yield invalid(path.child("apiVersion"), version, "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported")


def _endpoint(endpoint: str, path: Path) -> Iterator[FieldError]:
    if not endpoint:
        yield invalid(path, "", "endpoint is a mandatory field for a kms")
        return
    try:
        scheme = urlsplit(endpoint).scheme
    except ValueError as error:
        yield invalid(path, endpoint, f"invalid endpoint for kms provider, error: {error}")
        return
    if scheme != "unix":
        yield invalid(path, endpoint, f'unsupported scheme "{scheme}" for KMS provider, only unix is supported')
