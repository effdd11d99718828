"""StorageVersions, behind the feature gate StorageVersionAPI of kube-apiserver, and StorageVersionMigrations.

Mirrors k8s.io/api/apiserverinternal/v1alpha1, and of kubernetes pkg/registry/apiserverinternal and pkg/apis/apiserverinternal/validation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import STORAGE_VERSION_MIGRATIONS, STORAGE_VERSIONS
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.objectmeta import conditions, validation
from apiext.resources.registry.builtin.kind import BuiltinKind, OwnStatus, StatusOnly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.registry.request_context import RequestContext

_STATUS: Final = field.Path("status")
_EXAMPLES: Final = ("my-name", "abc-123")
_API_VERSION_FORMAT: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_API_VERSION_MESSAGE: Final = (
    "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_ALL_EQUAL: Final = "AllEncodingVersionsEqual"
_SET: Final = {"type": _ALL_EQUAL, "status": "True", "reason": "CommonEncodingVersionSet", "message": "Common encoding version set"}
_UNSET: Final = {"type": _ALL_EQUAL, "status": "False", "reason": "CommonEncodingVersionUnset", "message": "Common encoding version unset"}


class StorageVersionStrategy(OwnStatus):
    """Clients write metadata, servers the status; the spec is empty."""

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata: the name consists of a group and a resource."""
        return validation.validate(obj["metadata"], namespaced=False, name_rule=_name_errors)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Return no errors besides those of metadata."""
        return []


class StorageVersionStatusStrategy(StatusOnly, StorageVersionStrategy):
    """Strategy of the status subresource: keeps the spec and most of the metadata."""

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the entries of the servers, the common version and the conditions."""
        status = obj["status"]
        servers = status.get("storageVersions") or ()
        errors: list[FieldError] = []
        seen: set[str] = set()
        for index, server in enumerate(servers):
            path, name = _STATUS.child("storageVersions").index(index), server.get("apiServerID", "")
            if name in seen:
                errors.append(field.duplicate(path.child("apiServerID"), name))
            seen.add(name)
            errors += _server_errors(server, path)
        return errors + _common_version_errors(servers, status.get("commonEncodingVersion")) + _condition_errors(status)


def _name_errors(name: str, _prefix: bool = False) -> list[str]:  # noqa: FBT001, FBT002 -- the signature of name rules
    group, dot, resource = name.rpartition(".")
    if not dot:
        return ["name must be in the form of <group>.<resource>"]
    errors = [f"the group segment {message}" for message in names.dns1123_subdomain(group)]
    return errors + [f"the resource segment {message}" for message in names.dns1035_label(resource)]


def _server_errors(server: Object, path: Path) -> list[FieldError]:
    name, encoding = server.get("apiServerID", ""), server.get("encodingVersion", "")
    decodable, served = server.get("decodableVersions") or [], server.get("servedVersions") or []
    errors = [field.invalid(path.child("apiServerID"), name, message) for message in names.name_is_dns_subdomain(name)]
    errors += _api_version_errors(path.child("encodingVersion"), encoding)
    for index, version in enumerate(decodable):
        errors += _api_version_errors(path.child("decodableVersions").index(index), version)
    if encoding not in decodable:
        shown = server.get("decodableVersions")
        errors.append(field.invalid(path.child("decodableVersions"), shown, f"decodableVersions must include encodingVersion {encoding}"))
    for index, version in enumerate(served):
        where = path.child("servedVersions").index(index)
        errors += _api_version_errors(where, version)
        if version not in decodable:
            detail = f"individual served version : {version} must be included in decodableVersions : [{' '.join(decodable)}]"
            errors.append(field.invalid(where, version, detail))
    return errors


def _api_version_errors(path: Path, api_version: str) -> list[FieldError]:
    details = _api_version_details(api_version)
    return [field.invalid(path, api_version, ",".join(details))] if details else []


def _api_version_details(api_version: str) -> list[str]:
    parts = api_version.split("/")
    if len(parts) > 2:
        shape = names.regex_error(_API_VERSION_MESSAGE, _API_VERSION_FORMAT, *_EXAMPLES)
        return [f"an apiVersion is {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')"]
    details = []
    if len(parts) == 2:
        messages = names.dns1123_subdomain(parts[0]) if parts[0] else ["must be non-empty"]
        details = [f"group part: {message}" for message in messages]
    messages = names.dns1035_label(parts[-1]) if parts[-1] else ["must be non-empty"]
    return details + [f"version part: {message}" for message in messages]


def common_encoding_version(servers: Sequence[Object]) -> str | None:
    """Return the version that all servers encode, None if there is none."""
    versions = {server.get("encodingVersion", "") for server in servers}
    return versions.pop() if len(versions) == 1 else None


def with_servers(obj: Object, servers: Sequence[Object]) -> Object:
    """Return a StorageVersion with other entries of servers, and the derived fields. Return the same object if nothing changes.

    Mirrors SetCommonEncodingVersion of apiserver pkg/storageversion/updater.go.
    """
    before, common = obj["status"], common_encoding_version(servers)
    status: Object = {"storageVersions": list(servers)} if servers else {}
    if common is not None:
        status["commonEncodingVersion"] = common
    known = before.get("conditions") or []
    if common is not None and before.get("commonEncodingVersion") not in {None, common}:
        # another common version is a transition, although the status of the condition stays
        known = [one for one in known if one["type"] != _ALL_EQUAL]
    status["conditions"] = conditions.with_condition(known, _SET if common is not None else _UNSET)
    return obj if status == before else obj | {"status": status}


def _common_version_errors(servers: Sequence[Object], claimed: str | None) -> list[FieldError]:
    actual, path = common_encoding_version(servers), _STATUS.child("commonEncodingVersion")
    if claimed == actual:
        return []
    if actual is None:
        why = (
            "should be nil if servers do not agree on the same encoding version, "
            "or if there is no server reporting the supported versions yet"
        )
    elif claimed is None:
        return [field.invalid(path, field.typed_text(None), f"the common encoding version is {actual}")]
    else:
        why = f"the actual common encoding version is {actual}"
    return [field.invalid(path, claimed, why)]


def _condition_errors(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: dict[str, int] = {}
    for index, condition in enumerate(status.get("conditions") or ()):
        # as in the reference, the path lacks the name of the list
        path, name = _STATUS.index(index), condition["type"]
        if name in seen:
            detail = f"the type of the condition is not unique, it also appears in conditions[{seen[name]}]"
            errors.append(field.invalid(path.child("type"), name, detail))
        seen[name] = index
        for member in ("type", "status"):
            errors += [field.invalid(path.child(member), condition[member], message) for message in names.label_key(condition[member])]
        errors += [field.required(path.child(member)) for member in ("reason", "message") if not condition.get(member)]
    return errors


STORAGE_VERSION_KIND: Final = BuiltinKind(
    resource=STORAGE_VERSIONS, struct=struct_of(STORAGE_VERSIONS.kind), strategy=StorageVersionStrategy()
)


_KIND: Final = STORAGE_VERSION_MIGRATIONS.kind
RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
_REVISION: Final = re.compile("[1-9][0-9]*", re.ASCII)
_RESOURCE: Final = field.Path("spec", "resource", "resource")
_GROUP: Final = field.Path("spec", "resource", "group")
_CONDITIONS: Final = field.Path("status", "conditions")
_STATUS_REVISION: Final = field.Path("status", "resourceVersion")


class StorageVersionMigrationStrategy(OwnStatus):
    """The spec never changes; the migration controller writes the status."""

    distinct_errors = True

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata and the name of the resource."""
        problems = validation.validate(obj["metadata"], namespaced=False, name_rule=names.name_is_dns_subdomain)
        group, resource = obj["spec"]["resource"]["group"], obj["spec"]["resource"]["resource"]
        if not resource:
            problems.append(field.required(_RESOURCE, "resource is required to be set"))
        else:
            problems += _joined(_RESOURCE, resource, names.dns1035_label(resource))
        return problems + (_joined(_GROUP, group, names.dns1123_subdomain(group)) if group else [])

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the object as a new one; the spec must be the old one."""
        problems = [*self.validate(ctx, obj), *metadata_errors]
        if not json_values.equal(obj["spec"], old["spec"]):
            shown = _printed({"Resource": obj["spec"]["resource"]})
            problems.append(field.invalid(field.Path("spec"), shown, "field is immutable"))
        return problems


class StorageVersionMigrationStatusStrategy(StatusOnly, StorageVersionMigrationStrategy):
    """Strategy of the status subresource: keeps the spec and most of the metadata."""

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the revision and the conditions. Neither the revision nor a result may change once set."""
        problems = list(metadata_errors)
        revision, before = obj["status"].get("resourceVersion", ""), old["status"].get("resourceVersion", "")
        if revision and _REVISION.fullmatch(revision) is None:
            problems.append(field.invalid(_STATUS_REVISION, revision, f"resource version is not well formed: {revision}"))
        problems += conditions.condition_errors(obj["status"].get("conditions", ()), _CONDITIONS)
        if before and revision != before:
            problems.append(field.invalid(_STATUS_REVISION, revision, "field is immutable"))
        return problems + _result_errors(obj, old)


def _result_errors(obj: Object, old: Object) -> list[FieldError]:
    found, before = obj["status"].get("conditions"), old["status"].get("conditions", ())
    shown = _printed(found)
    details = []
    if conditions.is_true(found or (), SUCCEEDED) and conditions.is_true(found or (), FAILED):
        details.append("Both success and failed conditions cannot be true at the same time")
    for name, text in ((SUCCEEDED, "Success"), (FAILED, "Failed")):
        if conditions.is_true(before, name) and not conditions.is_true(found or (), name):
            details.append(f"{text} condition cannot be set to false once it is true")
    return [field.invalid(_CONDITIONS, shown, detail) for detail in details]


def _joined(path: Path, value: str, details: list[str]) -> list[FieldError]:
    return [field.invalid(path, value, ",".join(details))] if details else []


def _printed(value: object) -> field.Printed:
    return field.Printed(json_codec.dumps(value, sort_keys=False).decode())


# Like the reference it stores v1beta1, which has the same fields.
STORAGE_VERSION_MIGRATION_KIND: Final = BuiltinKind(
    resource=STORAGE_VERSION_MIGRATIONS,
    struct=struct_of(_KIND),
    strategy=StorageVersionMigrationStrategy(),
    stored_version=_KIND._replace(version="v1beta1").api_version,
)
