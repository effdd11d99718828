"""The schema of one CRD version, ready for use: the one door that the rest of apiext comes through."""

from __future__ import annotations

from typing import Any

from apiext.meta import objectmeta
from apiext.meta.errors import StatusError, bad_request
from apiext.meta.field import FieldError
from apiext.meta.json_codec import Object
from apiext.schema.canonical import can_tell, is_settled
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
    """What an openAPIV3Schema does to objects. Nothing is compiled before it is needed, and each node once.

    Objects are changed in place where a method says so. Every method refuses an object (or a schema) nested more
    deeply than can be processed, with a StatusError (400).
    """

    __slots__ = (
        "_can_tell", "_check",   "_resource", "_spec", "_status_check", "preserve_unknown_fields",
        "structural",
    )  # fmt: skip

    structural: Structural
    """The schema as it stands, for whoever walks it."""
    _resource: Structural
    _can_tell: bool
    _check: Check
    _status_check: Check

    def __init__(self, schema: Props | None, *, preserve_unknown_fields: bool = False) -> None:
        self.preserve_unknown_fields = preserve_unknown_fields
        self.structural = Structural(schema)
        self._spec = Spec(schema, served=True)

    def __getattr__(self, name: str) -> Any:
        # reached only while the slot is empty
        value: Any
        if name == "_check":
            value = compile_spec(self._spec)
        elif name == "_status_check":
            value = compile_spec(self._spec.properties["status"])
        elif name == "_can_tell":
            value = not self.preserve_unknown_fields and can_tell(self.structural)
        elif name == "_resource":
            value = self.structural.as_resource()
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    # --- on the way in ------------------------------------------------------------------------------------------------

    def coerce(self, obj: Object, *, drop_invalid: bool = False, report: bool = False) -> list[str]:
        """All that decoding does before defaulting: metadata, pruning, nulls, embedded resources; in place.

        Returns the paths of the unknown fields that were dropped, if they are to be reported: those of the metadata,
        then those of the object, then those of embedded metadata (unstructuredSchemaCoercer.apply).

        Raises:
            gotypes.DecodeError: the metadata has a wrong type (unless drop_invalid drops it).
            CoercionError: the same for embedded resources. Both are ValueErrors with the reference's text.
        """
        unknown, _ = objectmeta.coerce(obj, drop_malformed=drop_invalid, report=report)
        dropped = self.prune(obj)
        embedded = self.coerce_resources(obj, drop_invalid=drop_invalid, report=report)
        return [*unknown, *dropped, *embedded] if report else []

    def prune(self, obj: Object, *, report: bool = True) -> list[str]:
        """Drop unknown fields, and nulls that are neither allowed nor replaced by a default; in place.

        Returns the sorted paths of the unknown fields, such as `spec.list[0].foo`, if they are to be reported.
        """
        if self.preserve_unknown_fields:
            return []
        try:
            dropped = prune_resource(obj, self._resource)
            prune_non_nullable_nulls_without_defaults(obj, self.structural)
        except RecursionError:
            raise _too_deep() from None
        return dropped if report else []

    def coerce_resources(self, obj: Object, *, drop_invalid: bool = False, report: bool = False) -> list[str]:
        """Bring the metadata of embedded resources into its typed form, in place; the paths of unknown fields.

        Raises:
            CoercionError: something has a wrong type (unless drop_invalid drops it).
        """
        if not self.structural.has_resources:
            return []
        try:
            return coerce(obj, self.structural, resource_root=False, drop_invalid=drop_invalid, report=report)
        except RecursionError:
            raise _too_deep() from None

    def default(self, obj: Object) -> None:
        """Give absent fields, and nulls that are not allowed, their defaults; in place."""
        try:
            default(obj, self.structural)
        except RecursionError:
            raise _too_deep() from None

    def is_settled(self, obj: Object) -> bool:
        """Whether writing an object, reading it again, `coerce` and `default` would leave it as it is; False when in doubt."""
        try:
            # what lacks a default, as most new objects do, shows it first
            return self._can_tell and is_settled(obj, self.structural) and objectmeta.is_canonical(obj.get("metadata"))
        except RecursionError:
            return False

    # --- validation ---------------------------------------------------------------------------------------------------

    def validate(self, obj: Object) -> list[FieldError]:
        """Everything wrong with a new object: values, embedded resources, lists, in the reference's order."""
        errors = self.validate_values(obj)
        errors += self.validate_resources(obj)
        errors += self.validate_lists(obj)
        return errors

    def validate_update(self, new: Object, old: Object) -> list[FieldError]:
        """Everything wrong with a changed object; repetitions in lists are tolerated if the old object had some."""
        errors = self.validate_values(new, old)
        errors += self.validate_resources(new)
        errors += self.validate_lists(new, old)
        return errors

    def validate_values(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Violations of the schema's keywords; what the old object has in the same place, and is the same, is tolerated."""
        try:
            if self._check(obj):
                return []
            known = None if old is None else Correlated(obj, old, self.structural.raw)
            return to_field_errors("", report_change(self._spec, obj, "", known))
        except RecursionError:
            raise _too_deep() from None

    def validate_status(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Violations in the status alone, which is all that the status subresource looks at."""
        spec = self._spec.properties.get("status")
        if spec is None or "status" not in obj:
            return []
        try:
            if self._status_check(obj["status"]):
                return []
            known = None if old is None else Correlated(obj, old, self.structural.raw).key("status")
            return to_field_errors("status", report_change(spec, obj["status"], "", known))
        except RecursionError:
            raise _too_deep() from None

    def validate_resources(self, obj: Object) -> list[FieldError]:
        """What is wrong with the type and metadata of embedded resources."""
        if not self.structural.has_resources:
            return []
        try:
            return resource_errors(obj, self.structural, resource_root=False)
        except RecursionError:
            raise _too_deep() from None

    def validate_lists(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Repetitions in lists of type set and map, unless the old object has some too."""
        if not self.structural.has_lists:
            return []
        try:
            errors = list_errors(obj, self.structural)
            return [] if errors and old is not None and list_errors(old, self.structural) else errors
        except RecursionError:
            raise _too_deep() from None


def _too_deep() -> StatusError:
    return bad_request("exceeded max depth")
