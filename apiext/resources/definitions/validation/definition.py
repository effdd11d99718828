"""Validation of whole definitions: creation, update, and update of the status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field
from apiext.base.meta.names import name_is_dns_subdomain
from apiext.base.meta.objectmeta import validation
from apiext.resources.definitions.approval import ANNOTATION, Approval, approval, is_protected
from apiext.resources.definitions.v1beta1 import to_v1beta1_spec
from apiext.resources.definitions.validation.options import CREATE, for_update
from apiext.resources.definitions.validation.spec import names_errors, reserved_errors, spec_errors, spec_update_errors

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError

_SPEC: Final = field.Path("spec")
_STATUS: Final = field.Path("status")


def validate_create(crd: Object) -> list[FieldError]:
    """Return the errors of a new definition in canonical form, including its metadata."""
    required_name = f"{crd['spec']['names']['plural']}.{crd['spec']['group']}"

    def name_rule(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
        problems = name_is_dns_subdomain(name, prefix)
        return problems if name == required_name else [*problems, 'must be spec.names.plural+"."+spec.group']

    errors = field.distinct(validation.validate(crd["metadata"], namespaced=False, name_rule=name_rule))
    errors += spec_errors(to_v1beta1_spec(crd["spec"]), _SPEC, CREATE)
    errors += reserved_errors(crd["spec"], _SPEC)
    return errors + _common_errors(crd, None)


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """Return the errors of an updated definition; both states are in canonical form."""
    errors = field.distinct(validation.validate_update(new["metadata"], old["metadata"]))
    spec, old_spec = to_v1beta1_spec(new["spec"]), to_v1beta1_spec(old["spec"])
    errors += spec_update_errors(spec, old_spec, _SPEC, for_update(spec, old_spec, old))
    return errors + _common_errors(new, old)


def validate_status_update(new: Object, old: Object) -> list[FieldError]:
    """Return the errors of an update of the status."""
    errors = field.distinct(validation.validate_update(new["metadata"], old["metadata"]))
    return errors + names_errors(new["status"]["acceptedNames"], _STATUS.child("acceptedNames"))


def _common_errors(crd: Object, old: Object | None) -> list[FieldError]:
    errors = names_errors(crd["status"]["acceptedNames"], _STATUS.child("acceptedNames"))
    errors += _stored_versions(crd)
    errors += _approval(crd, old)
    if crd["spec"].get("preserveUnknownFields") and not (old and old["spec"].get("preserveUnknownFields")):
        detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(field.invalid(_SPEC.child("preserveUnknownFields"), True, detail))  # noqa: FBT003
    return errors


def _stored_versions(crd: Object) -> list[FieldError]:
    """Return the errors of status.storedVersions: each must be in the spec (ValidateCustomResourceDefinitionStoredVersions)."""
    path, stored = _STATUS.child("storedVersions"), crd["status"]["storedVersions"]
    if not stored:
        return [field.invalid(path, stored, "must have at least one stored version")]
    errors = []
    remaining = {name: index for index, name in enumerate(stored)}
    for version in crd["spec"]["versions"] or ():
        is_stored = remaining.pop(version["name"], None) is not None
        if version["storage"] and not is_stored:
            errors.append(field.invalid(path, stored, f"must have the storage version {version['name']}"))
    for name, index in remaining.items():
        detail = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        )
        errors.append(field.invalid(path.index(index), name, detail))
    return errors


def _approval(crd: Object, old: Object | None) -> list[FieldError]:
    """Return the errors of the approval annotation of a definition in a community group. Accept an unchanged state."""
    if not is_protected(crd["spec"]["group"]):
        return []
    state, message = approval(crd)
    if state in (Approval.APPROVED, Approval.BYPASSED) or (old is not None and approval(old)[0] is state):
        return []
    path = field.Path("metadata", "annotations").key(ANNOTATION)
    if state is Approval.MISSING:
        return [field.required(path, message)]
    return [field.invalid(path, crd["metadata"]["annotations"][ANNOTATION], message)]
