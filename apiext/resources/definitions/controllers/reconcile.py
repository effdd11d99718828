"""Reconciliation of a definition's status: all conditions in one write.

The reference has a controller for each condition, and each writes the status. Here one write sets all conditions. Clients cannot
rely on the reference's states in between.
Mirrors apiextensions-apiserver pkg/controller: status, establish, nonstructuralschema, apiapproval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field
from apiext.base.meta.gvk import GroupResource
from apiext.resources.definitions import conditions
from apiext.resources.definitions import conditions as approval
from apiext.resources.definitions.conditions import (
    CONVERSION_WEBHOOK_AVAILABLE,
    ESTABLISHED,
    NAMES_ACCEPTED,
    NON_STRUCTURAL_SCHEMA,
    Condition,
)
from apiext.resources.definitions.controllers.naming import AcceptedNames, accept_names, needs_names
from apiext.storage.replicas.server_keys import RESERVED, is_reserved

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_NOT_ACCEPTED: Final = Condition(ESTABLISHED, "False", "NotAccepted", "not all names are accepted")
_ESTABLISHED: Final = Condition(ESTABLISHED, "True", "InitialNamesAccepted", "the initial names have been accepted")
_BAD_CA_BUNDLE: Final = Condition(ESTABLISHED, "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")


def reconcile_status(crd: Object, taken: AcceptedNames, webhook: Condition | None = None) -> Object:
    """Return the definition with a reconciled status, or the same object if nothing changes.

    `taken` are the accepted names in its group, including its own. `webhook` is a new condition of the conversion webhook. The result
    shares members with the given definition and changes none of them.
    """
    status = crd["status"]
    out = dict(crd)
    if is_reserved(GroupResource(crd["spec"]["group"], crd["spec"]["names"]["plural"])):
        conditions.put(out, Condition(NAMES_ACCEPTED, "False", "Reserved", RESERVED))
        conditions.put(out, _NOT_ACCEPTED)
    else:
        _accept_names(out, taken)
        _establish(out)
    violations = _non_structural(out)
    if violations is None:
        conditions.remove(out, NON_STRUCTURAL_SCHEMA)
    else:
        conditions.put(out, violations)
    _report_webhook(out, webhook)
    approved = approval.condition(out)
    if approved is not None:
        conditions.put(out, approved)
    return crd if out["status"] is status else out


def webhook_condition(error: Exception | None) -> Condition:
    """Return the condition of a conversion webhook: failing with an error, or available again."""
    if error is None:
        return Condition(CONVERSION_WEBHOOK_AVAILABLE, "True", "CallsSucceeded", "the conversion webhook answers again")
    return Condition(CONVERSION_WEBHOOK_AVAILABLE, "False", "CallsFailed", str(error))


def _report_webhook(crd: Object, webhook: Condition | None) -> None:
    if crd["spec"]["conversion"]["strategy"] != "Webhook":
        conditions.remove(crd, CONVERSION_WEBHOOK_AVAILABLE)
    elif webhook is not None and (webhook.status == "False" or conditions.find(crd, CONVERSION_WEBHOOK_AVAILABLE) is not None):
        conditions.put(crd, webhook)


def depends_on_schemas(crd: Object) -> bool:
    """Report whether the status depends on the definition's schemas. If not, the caller may omit them.

    Validation requires structural schemas unless preserveUnknownFields is set. A definition from an older server may have the condition.
    """
    return bool(crd["spec"].get("preserveUnknownFields")) or conditions.find(crd, NON_STRUCTURAL_SCHEMA) is not None


def _accept_names(crd: Object, taken: AcceptedNames) -> None:
    if not needs_names(crd):
        return
    accepted, condition = accept_names(crd, taken)
    if condition.equals(conditions.find(crd, NAMES_ACCEPTED)) and accepted == crd["status"]["acceptedNames"]:
        return
    crd["status"] = crd["status"] | {"acceptedNames": accepted}
    conditions.put(crd, condition)
    if conditions.find(crd, ESTABLISHED) is None:
        conditions.put(crd, _NOT_ACCEPTED)


def _establish(crd: Object) -> None:
    if not conditions.is_true(crd, NAMES_ACCEPTED) or conditions.is_true(crd, ESTABLISHED):
        return
    webhook = crd["spec"]["conversion"].get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    condition = _ESTABLISHED
    if bundle:
        from apiext.resources.definitions.validation.client_config import ca_bundle_errors

        if ca_bundle_errors(bundle, field.ROOT):
            condition = _BAD_CA_BUNDLE
    conditions.put(crd, condition)


def _non_structural(crd: Object) -> Condition | None:
    if not depends_on_schemas(crd):
        return None
    # Loaded with the first definition of this kind: most servers never have one.
    from apiext.schema.model import unsupported_field
    from apiext.schema.structural import stored_structural_errors

    spec, errors = crd["spec"], []
    if spec.get("preserveUnknownFields"):
        errors.append(field.invalid(field.Path("spec", "preserveUnknownFields"), True, "must be false"))  # noqa: FBT003
    for index, version in enumerate(spec["versions"] or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        unsupported = unsupported_field(schema)
        if unsupported:
            message = f"failed to check validation schema for version {version['name']}: {unsupported}"
            return Condition(NON_STRUCTURAL_SCHEMA, "Unknown", "StructuralError", message)
        path = field.Path("spec", "versions").index(index).child("schema", "openAPIV3Schema")
        errors += stored_structural_errors(schema, path)
    return Condition(NON_STRUCTURAL_SCHEMA, "True", "Violations", field.aggregate(field.limited(errors))) if errors else None
