"""The rules of custom resources in one version (apiextensions-apiserver pkg/registry/customresource: strategy.go, validator.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import orjson

from apiext.meta import deep, field, go_format, names, objectmeta_rules, unstructured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.meta.field import FieldError
    from apiext.meta.gvk import GroupVersionKind
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext

_FINALIZERS: Final = field.Path("metadata", "finalizers")
_STANDARD_FINALIZERS: Final = frozenset({objectmeta_rules.FINALIZER_ORPHAN, objectmeta_rules.FINALIZER_FOREGROUND, "kubernetes"})
_MAX_INT32: Final = 2**31 - 1


class ObjectRules(Protocol):
    """What a strategy asks of the compiled schema of its version; nothing is changed."""

    def validate_values(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """What is wrong with the values of an object, its own metadata apart; what was so before may be let pass."""
        ...

    def validate_status(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """What is wrong with the values of its status."""
        ...

    def validate_resources(self, obj: Object) -> list[FieldError]:
        """What is wrong with kind and metadata of embedded resources."""
        ...

    def validate_lists(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Repetitions in lists that are sets or maps, unless there were some before."""
        ...


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a custom resource keeps what its scale subresource shows; the paths are as the CRD has them (".spec.replicas")."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


def split_path(path: str) -> list[str]:
    """The members that a simple JSON path goes through."""
    return path.removeprefix(".").split(".")


class CustomResourceStrategy:
    """Generation counts what is no metadata, and no status where that is a subresource; status is not for create and update then."""

    __slots__ = ("has_status", "kind", "namespaced", "rules", "scale")

    allow_create_on_update = False
    allow_unconditional_update = False
    returns_deleted_object = False
    garbage_collected = True
    distinct_errors = False

    def __init__(
        self,
        *,
        kind: GroupVersionKind,
        namespaced: bool,
        rules: ObjectRules,
        has_status: bool = False,
        scale: ScalePaths | None = None,
    ) -> None:
        self.kind = kind
        self.namespaced = namespaced
        self.rules = rules
        self.has_status = has_status
        self.scale = scale

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """No status where that is a subresource; the first generation."""
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """The old status where that is a subresource; another generation if anything but metadata changes."""
        if self.has_status:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        if _differ(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Kind and version; then metadata, values, replicas, embedded resources and lists."""
        errors = self.type_errors(obj)
        if errors:
            return errors
        rule = names.name_is_dns_subdomain
        errors = field.distinct(objectmeta_rules.validate(obj["metadata"], namespaced=self.namespaced, name_rule=rule))
        errors += self.rules.validate_values(obj)
        errors += spec_scale_errors(obj, self.scale) + status_scale_errors(obj, self.scale)
        return errors + self.rules.validate_resources(obj) + self.rules.validate_lists(obj)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[FieldError]:
        """The same, with what an update may let pass."""
        errors = self.type_errors(obj)
        if errors:
            return errors
        errors = field.distinct(objectmeta_rules.validate_update(obj["metadata"], old["metadata"]))
        errors += self.rules.validate_values(obj, old)
        errors += spec_scale_errors(obj, self.scale) + status_scale_errors(obj, self.scale)
        return errors + self.rules.validate_resources(obj) + self.rules.validate_lists(obj, old)

    def type_errors(self, obj: Object) -> list[FieldError]:
        """The object must be of the kind and version of the request."""
        errors = []
        if obj.get("kind") != self.kind.kind:
            errors.append(field.invalid(field.Path("kind"), obj.get("kind", ""), f"must be {self.kind.kind}"))
        if obj.get("apiVersion") != self.kind.api_version:
            detail = f"must be {self.kind.api_version}"
            errors.append(field.invalid(field.Path("apiVersion"), obj.get("apiVersion", ""), detail))
        return errors

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """About finalizers that others might use too."""
        return _finalizer_warnings(obj["metadata"].get("finalizers", ()), ())

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """About new finalizers that others might use too."""
        return _finalizer_warnings(obj["metadata"].get("finalizers", ()), old["metadata"].get("finalizers", ()))

    def canonicalize(self, obj: Object) -> None:
        """Nothing to do: the codec gives objects their form."""

    def may_delete_during_update(self, obj: Object, old: Object) -> bool:
        """Always: nothing but finalizers keeps a custom resource."""
        return True


def _differ(new: Object, old: Object) -> bool:
    """Whether two objects differ outside their metadata."""
    one = {key: member for key, member in new.items() if key != "metadata"}
    other = {key: member for key, member in old.items() if key != "metadata"}
    # Python's comparison is quick, but takes true for 1 and 1.0 for 1.
    try:
        return one != other or _written(one) != _written(other)
    except (RecursionError, orjson.JSONEncodeError):
        return not deep.equal(one, other)


def _written(obj: Object) -> bytes:
    return orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)


def _finalizer_warnings(new: Sequence[str], old: Sequence[str]) -> list[str]:
    if not new:
        return []
    warnings = []
    for name in sorted(set(new).difference(old)):
        where = f"{_FINALIZERS}: {go_format.quote(name)}: "
        warnings += [where + message for message in names.label_key(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            warnings.append(
                f"{where}prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
            )
    return warnings


def spec_scale_errors(obj: Object, scale: ScalePaths | None) -> list[FieldError]:
    """The wanted number of replicas must be one."""
    return [] if scale is None else _replicas_errors(obj, scale.spec_replicas)


def status_scale_errors(obj: Object, scale: ScalePaths | None) -> list[FieldError]:
    """The number of replicas in the status must be one, and the selector a text."""
    if scale is None:
        return []
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
