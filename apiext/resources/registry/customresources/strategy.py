"""The strategy of custom resources in one version (apiextensions-apiserver pkg/registry/customresource: strategy.go, validator.go).

Status: apiextensions-apiserver pkg/registry/customresource/status_strategy.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names, unstructured
from apiext.base.meta.encoding import json_values
from apiext.base.meta.field import ErrorType
from apiext.base.meta.golang import formatting
from apiext.base.meta.objectmeta import validation
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.conversion.interface import CarriedContent
    from apiext.resources.registry.request_context import RequestContext
    from apiext.schema.compiled import CompiledSchema

_FINALIZERS: Final = field.Path("metadata", "finalizers")
_STANDARD_FINALIZERS: Final = frozenset({validation.FINALIZER_ORPHAN, validation.FINALIZER_FOREGROUND, "kubernetes"})
_MAX_INT32: Final = 2**31 - 1
_BLOCKING: Final = frozenset(
    {ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID},
)
"""Error types after which no rule is evaluated: values may have other types and sizes than the rules expect."""
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """JSON paths of the scale subresource, as in the CRD (".spec.replicas")."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


def split_path(path: str) -> list[str]:
    """Return the members of a simple JSON path."""
    return path.removeprefix(".").split(".")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CustomResourceStrategy(Strategy):
    """Counts generations, and protects the status of a CRD with a status subresource."""

    kind: GroupVersionKind
    namespaced: bool
    rules: CompiledSchema
    has_status: bool = False
    scale: ScalePaths | None = None
    carrying: CarriedContent | None = None
    """The converter, if it keeps what a version lacks in an annotation."""

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Drop the status if it is a subresource. Set the first generation."""
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1
        if self.carrying is not None:
            self.carrying.settle(obj, is_new=True)

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Keep the old status if it is a subresource, and what is still carried. Count the generation if more than metadata changes."""
        if self.carrying is not None:
            self.carrying.keep(obj["metadata"], old["metadata"])
        if self.has_status:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        if _differ(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if self.carrying is not None:
            self.carrying.settle(obj)

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate kind and version first, then metadata, values and replicas, then embedded resources, lists and rules."""
        errors, is_valid = self.type_errors(obj), False
        if not errors:
            rule = names.name_is_dns_subdomain
            errors = field.distinct(validation.validate(obj["metadata"], namespaced=self.namespaced, name_rule=rule))
            is_valid = self.rules.is_valid(obj)
            errors += [] if is_valid else self.rules.validate_values(obj)
            errors += self._scale_errors(obj)
        errors += self.rules.validate_resources(obj) + self.rules.validate_lists(obj)
        return self.with_rule_errors(ctx, errors, obj, None, is_valid=is_valid)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate as for a create, with ratcheting."""
        errors, is_valid = self.type_errors(obj), False
        if not errors:
            errors = field.distinct(list(metadata_errors))
            is_valid = self.rules.is_valid(obj)
            errors += [] if is_valid else self.rules.validate_values(obj, old)
            errors += self._scale_errors(obj)
        errors += self.rules.validate_resources(obj) + self.rules.validate_lists(obj, old)
        return self.with_rule_errors(ctx, errors, obj, old, is_valid=is_valid)

    def _scale_errors(self, obj: Object) -> list[FieldError]:
        if self.scale is None:
            return []
        return _replicas_errors(obj, self.scale.spec_replicas) + status_scale_errors(obj, self.scale)

    def with_rule_errors(
        self, ctx: RequestContext, errors: list[FieldError], obj: Object, old: Object | None, *, is_valid: bool
    ) -> list[FieldError]:
        """Return `errors` and the errors of violated rules. Violations by unchanged values become warnings.

        `is_valid`: the object satisfies all keywords of the schema.
        """
        if not self.rules.has_rules:
            return errors
        if any(error.type in _BLOCKING for error in errors):
            return [*errors, field.invalid(field.ROOT, None, _UNCHECKED)]
        result = self.rules.validate_rules(obj, old, is_valid=is_valid)
        ctx.warnings += result.warnings
        return errors + result.errors

    def type_errors(self, obj: Object) -> list[FieldError]:
        """Return the errors of an object's kind and version, which must be the request's."""
        errors = []
        if obj.get("kind") != self.kind.kind:
            errors.append(field.invalid(field.Path("kind"), obj.get("kind", ""), f"must be {self.kind.kind}"))
        if obj.get("apiVersion") != self.kind.api_version:
            detail = f"must be {self.kind.api_version}"
            errors.append(field.invalid(field.Path("apiVersion"), obj.get("apiVersion", ""), detail))
        return errors

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Warn about finalizers that may conflict with others."""
        return _finalizer_warnings(obj["metadata"].get("finalizers", ()), ())

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Warn about new finalizers that may conflict with others."""
        return _finalizer_warnings(obj["metadata"].get("finalizers", ()), old["metadata"].get("finalizers", ()))


def _differ(new: Object, old: Object) -> bool:
    """Report whether two objects differ outside their metadata."""
    one, other = new.copy(), old.copy()
    del one["metadata"], other["metadata"]
    return not json_values.equal(one, other)


def _finalizer_warnings(new: Sequence[str], old: Sequence[str]) -> list[str]:
    if not new:
        return []
    warnings = []
    for name in sorted(set(new).difference(old)):
        where = f"{_FINALIZERS}: {formatting.quote(name)}: "
        warnings += [where + message for message in names.label_key(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            warnings.append(
                f"{where}prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )
    return warnings


def status_scale_errors(obj: Object, scale: ScalePaths) -> list[FieldError]:
    """Return the errors of the replicas and the selector in the status."""
    errors = _replicas_errors(obj, scale.status_replicas)
    if scale.label_selector:
        try:
            unstructured.get_string(obj, split_path(scale.label_selector))
        except ValueError as error:
            errors.append(field.invalid(field.Path(scale.label_selector), "", str(error)))
    return errors


def _replicas_errors(obj: Object, path: str) -> list[FieldError]:
    where = field.Path(path)
    try:
        replicas = unstructured.get_int(obj, split_path(path)) or 0
    except ValueError as error:
        return [field.invalid(where, 0, str(error))]
    if replicas < 0:
        return [field.invalid(where, replicas, "should be a non-negative integer")]
    if replicas > _MAX_INT32:
        return [field.invalid(where, replicas, f"should be less than or equal to {_MAX_INT32}")]
    return []


@dataclass(frozen=True, slots=True, eq=False)
class StatusStrategy(Strategy):
    """Strategy of the status subresource: changes only the status."""

    resource: CustomResourceStrategy

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Replace the object by the old one with the new status and managedFields."""
        given = {"status": obj["status"]} if "status" in obj else {}
        managers = obj["metadata"].get("managedFields")
        obj.clear()
        obj.update(old)
        metadata = obj["metadata"] = dict(old["metadata"])
        if managers is None:
            metadata.pop("managedFields", None)
        else:
            metadata["managedFields"] = managers
        obj.pop("status", None)
        obj.update(given)
        if self.resource.carrying is not None:
            self.resource.carrying.settle(obj)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate kind and version first, then metadata, status and replicas, then lists and rules."""
        rules, scale = self.resource.rules, self.resource.scale
        errors = self.resource.type_errors(obj)
        if not errors:
            errors = field.distinct(list(metadata_errors))
            errors += rules.validate_status(obj, old)
            if scale is not None:
                errors += status_scale_errors(obj, scale)
        is_valid = rules.has_rules and rules.is_valid(obj)
        return self.resource.with_rule_errors(ctx, errors + rules.validate_lists(obj, old), obj, old, is_valid=is_valid)
