"""The compiled schema of a CRD version: the interface of this room to the others."""

from __future__ import annotations

from typing import Any

from apiext.meta import objectmeta
from apiext.meta.field import FieldError
from apiext.meta.json_codec import Object
from apiext.schema.canonical import is_canonical, supports
from apiext.schema.defaulting.algorithm import default
from apiext.schema.defaulting.prune_nulls import prune_non_nullable_nulls_without_defaults
from apiext.schema.list_type import list_errors
from apiext.schema.model import Props, Structural
from apiext.schema.objectmeta.algorithm import coerce
from apiext.schema.objectmeta.validation import resource_errors
from apiext.schema.pruning import prune_resource
from apiext.schema.validation.checker import Check, compile_spec
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.report import report_change
from apiext.schema.validation.result import to_field_errors
from apiext.schema.validation.spec import Spec


class CompiledSchema:
    """Coerces, prunes, defaults and validates objects by an openAPIV3Schema.

    Nodes are compiled on first use, once. Methods that change objects in place say so.
    """

    __slots__ = (
        "_check",
        "_has_fast_path",
        "_resource",
        "_spec",
        "_status_check",
        "preserve_unknown_fields",
        "structural",
    )  # fmt: skip

    structural: Structural
    """The uncompiled schema."""
    _resource: Structural
    _has_fast_path: bool
    _check: Check
    _status_check: Check

    def __init__(self, schema: Props | None, *, preserve_unknown_fields: bool = False) -> None:
        self.preserve_unknown_fields = preserve_unknown_fields
        self.structural = Structural(schema)
        self._spec = Spec(schema, served=True)

    def __getattr__(self, name: str) -> Any:
        # Called only while the slot is empty.
        value: Any
        if name == "_check":
            value = compile_spec(self._spec)
        elif name == "_status_check":
            value = compile_spec(self._spec.properties["status"])
        elif name == "_has_fast_path":
            value = not self.preserve_unknown_fields and supports(self.structural)
        elif name == "_resource":
            value = self.structural.as_resource()
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    # --- decoding ---------------------------------------------------------------------------------------------------------

    def coerce(self, obj: Object, *, drop_invalid: bool = False, report: bool = False) -> list[str]:
        """Do all of decoding but defaulting, in place: coerce metadata, prune, drop nulls, coerce embedded resources.

        With `report`, returns the paths of the dropped unknown fields: those of the metadata, of the object, and of embedded
        metadata (unstructuredSchemaCoercer.apply).

        Raises:
            DecodeError: the metadata has a wrong type (go_types; unless drop_invalid drops it).
            CoercionError: an embedded resource has a wrong type (unless drop_invalid drops it). Both are ValueErrors with the
                reference's text.
        """
        unknown, _ = objectmeta.coerce(obj, drop_malformed=drop_invalid, report=report)
        dropped = self.prune(obj)
        embedded = self.coerce_resources(obj, drop_invalid=drop_invalid, report=report)
        return [*unknown, *dropped, *embedded] if report else []

    def prune(self, obj: Object) -> list[str]:
        """Drop unknown fields, and nulls that are neither allowed nor replaced by a default, in place.

        Returns the sorted paths of the unknown fields, such as `spec.list[0].foo`.
        """
        if self.preserve_unknown_fields:
            return []
        dropped = prune_resource(obj, self._resource)
        prune_non_nullable_nulls_without_defaults(obj, self.structural)
        return dropped

    def coerce_resources(self, obj: Object, *, drop_invalid: bool = False, report: bool = False) -> list[str]:
        """Bring the metadata of embedded resources into its typed form, in place, and return the paths of unknown fields.

        Raises:
            CoercionError: a value has a wrong type (unless drop_invalid drops it).
        """
        if not self.structural.has_resources:
            return []
        return coerce(obj, self.structural, resource_root=False, drop_invalid=drop_invalid, report=report)

    def default(self, obj: Object) -> None:
        """Set defaults for absent fields and for nulls that are not allowed, in place."""
        default(obj, self.structural)

    def is_canonical(self, obj: Object) -> bool:
        """Return whether writing an object, reading it again, `coerce` and `default` would leave it unchanged; False when in doubt."""
        # Cheapest test first: most new objects lack a default.
        return self._has_fast_path and is_canonical(obj, self.structural) and objectmeta.is_canonical(obj.get("metadata"))

    # --- validation ---------------------------------------------------------------------------------------------------

    def validate(self, obj: Object) -> list[FieldError]:
        """Return the errors of a new object in the reference's order: values, embedded resources, lists."""
        errors = self.validate_values(obj)
        errors += self.validate_resources(obj)
        errors += self.validate_lists(obj)
        return errors

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Return the errors of a changed object; repeated list items are tolerated if the old object has any."""
        errors = self.validate_values(new, old)
        errors += self.validate_resources(new)
        errors += self.validate_lists(new, old)
        return errors

    def validate_values(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the violations of the schema's keywords; unchanged values of the old object are tolerated (ratcheting)."""
        if self._check(obj):
            return []
        known = None if old is None else Correlated(obj, old, self.structural.raw)
        return to_field_errors("", report_change(self._spec, obj, "", known))

    def validate_status(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the violations in the status, which is all that the status subresource validates."""
        spec = self._spec.properties.get("status")
        if spec is None or "status" not in obj:
            return []
        if self._status_check(obj["status"]):
            return []
        known = None if old is None else Correlated(obj, old, self.structural.raw).key("status")
        return to_field_errors("status", report_change(spec, obj["status"], "", known))

    def validate_resources(self, obj: Object) -> list[FieldError]:
        """Return the errors of the type and metadata of embedded resources."""
        if not self.structural.has_resources:
            return []
        return resource_errors(obj, self.structural, resource_root=False)

    def validate_lists(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the repeated items of lists of type set and map, none if the old object has some."""
        if not self.structural.has_lists:
            return []
        errors = list_errors(obj, self.structural)
        return [] if errors and old is not None and list_errors(old, self.structural) else errors
