"""storagemigration.k8s.io/v1 StorageVersionMigrations for standalone use.

Mirrors k8s.io/api/storagemigration/v1, and of kubernetes pkg/registry/storagemigration and pkg/apis/storagemigration/validation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import STORAGE_VERSION_MIGRATIONS
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.objectmeta import conditions, validation
from apiext.resources.registry.builtin.kind import BuiltinKind, OwnStatus, StatusOnly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.registry.request_context import RequestContext

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
