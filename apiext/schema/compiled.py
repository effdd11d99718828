"""The compiled schema of a CRD version: the room's interface to other rooms.

List type: schema/listtype/validation.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.field import ErrorType, FieldError
from apiext.base.meta.objectmeta import canonical
from apiext.schema.canonical import complete, is_canonical, supports
from apiext.schema.defaulting.algorithm import default, prune_non_nullable_nulls_without_defaults
from apiext.schema.embedded_metadata import coerce, resource_errors
from apiext.schema.field_path import DottedPath, Location, LocationPath, MapKey
from apiext.schema.model import Props, Structural
from apiext.schema.pruning import prune
from apiext.schema.validation.change_checker import ChangeCheck, compile_change_check
from apiext.schema.validation.checker import compile_check
from apiext.schema.validation.correlated import Correlated
from apiext.schema.validation.keywords.constraint import Check
from apiext.schema.validation.result import to_field_errors
from apiext.schema.validation.spec import Spec

if TYPE_CHECKING:
    from types import ModuleType

    from apiext.base.scheduling.inline_work import Deferred
    from apiext.schema.cel.rules.evaluation import RuleResult
    from apiext.schema.cel.rules.tree import RuleNode


_UNSPECIFIED: Final = object()
"""Key of an item without keys."""


def list_errors(obj: dict[str, Any], schema: Structural) -> list[FieldError]:
    """Return an error for the first repetition of each item of a set and of each key of a map."""
    errors: list[FieldError] = []
    if schema.has_lists:
        _object(obj, schema, None, errors)
    return errors


def _object(value: dict[str, Any], schema: Structural, location: Location, errors: list[FieldError]) -> None:
    properties = schema.properties
    for key, member in value.items():
        kind = type(member)
        if kind is not dict and kind is not list:
            continue
        # A schema cannot have both properties and additionalProperties.
        child = properties.get(key) or schema.additional
        if child is None or not child.has_lists:
            continue
        here: Location = (location, key) if key in properties else (location, MapKey(key))
        if kind is dict:
            _object(member, child, here, errors)
        else:
            _list(member, child, here, errors)


def _list(value: list[Any], schema: Structural, location: Location, errors: list[FieldError]) -> None:
    if schema.list_type == "set":
        errors.extend(_duplicate(location, index, value[index]) for index in _repeated(value))
    elif schema.list_type == "map":
        errors.extend(_map_errors(value, schema.list_map_keys, location))
    items = schema.items
    if items is None or not items.has_lists:
        return
    for index, item in enumerate(value):
        if type(item) is dict:
            _object(item, items, (location, index), errors)
        elif type(item) is list:
            _list(item, items, (location, index), errors)


def _map_errors(value: list[Any], map_keys: list[str], location: Location) -> Iterator[FieldError]:
    for index, item in enumerate(value):
        if item is not None and type(item) is not dict:
            detail = "must be an object for an array of list-type map"
            yield FieldError(ErrorType.INVALID, LocationPath((location, index)), item, detail)
            return
    if len(map_keys) == 1:
        name = map_keys[0]
        keys = [_UNSPECIFIED if item is None else item.get(name, _UNSPECIFIED) for item in value]
        for index in _repeated(keys):
            yield _duplicate(location, index, {} if keys[index] is _UNSPECIFIED else {name: keys[index]})
    else:
        composed = [{name: item[name] for name in map_keys if name in item} if item else {} for item in value]
        for index in _repeated(composed):
            yield _duplicate(location, index, composed[index])


def _duplicate(location: Location, index: int, value: Any) -> FieldError:
    return FieldError(ErrorType.DUPLICATE, LocationPath((location, index)), value)


def _repeated(items: list[Any]) -> Iterator[int]:
    """Yield the index of the second occurrence of each repeated item."""
    if len(items) <= 1:
        return
    try:
        # Here 1, 1.0 and true are equal. If nothing repeats in this sense, nothing repeats at all.
        if len(set(items)) == len(items):
            return
    except TypeError:
        pass
    times: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        # Scalars 1, 1.0 and true differ. In lists and objects the written form counts.
        identity = json_codec.dumps(item) if type(item) is dict or type(item) is list else (type(item), item)
        times[identity] = times.get(identity, 0) + 1
        if times[identity] == 2:
            yield index


class CompiledSchema:
    """Coerces, prunes, defaults and validates objects by an openAPIV3Schema.

    Compiles each node once, at first use. Methods that change objects in place say so.
    """

    def __init__(self, schema: Props | None, *, preserve_unknown_fields: bool = False) -> None:
        self.preserve_unknown_fields = preserve_unknown_fields
        self.structural = Structural(schema)
        """The uncompiled schema."""
        self._spec = Spec(schema, served=True)
        self._canonical: Object = {}
        """The canonical object that was last decoded or checked. Its members never change (resources/registry/strategy.py)."""
        self._metadata: Object = {}
        """The metadata of the last recalled object, which is canonical."""
        self._valid: Object = {}
        """The last valid object."""

    @cached_property
    def _check(self) -> Check:
        return compile_check(self._spec)

    @cached_property
    def _change_check(self) -> ChangeCheck | None:
        return compile_change_check(self._spec) if self._has_fast_path else None

    @cached_property
    def _status_check(self) -> Check:
        return compile_check(self._spec.properties["status"])

    @cached_property
    def _has_fast_path(self) -> bool:
        return not self.preserve_unknown_fields and supports(self.structural)

    @cached_property
    def _resource(self) -> Structural:
        return self.structural.as_resource()

    @cached_property
    def _rules(self) -> Deferred[RuleNode | None]:
        # the first write of an object with rules loads the language
        from apiext.schema.cel.rules.tree import deferred_rules

        return deferred_rules(self._resource)

    @cached_property
    def _evaluation(self) -> ModuleType:
        # an import takes longer than the evaluation of a short rule, even of a module that is loaded
        from apiext.schema.cel.rules import evaluation

        return evaluation

    # --- decoding ---------------------------------------------------------------------------------------------------------

    def coerce(self, obj: Object, *, defaults: bool = False, drop_invalid: bool = False, report: bool = False) -> list[str]:
        """Decode an object in place: coerce metadata, prune, drop nulls, coerce embedded resources and, with `defaults`, set defaults.

        With `report`, return the paths of dropped unknown fields: those of the metadata, of the object, and of embedded metadata
        (unstructuredSchemaCoercer.apply).

        Raises:
            DecodeError: the metadata has a wrong type (go_types; unless drop_invalid drops it).
            CoercionError: an embedded resource has a wrong type (unless drop_invalid drops it). Both are ValueErrors with the
                reference's text.
        """
        unknown, _ = canonical.coerce(obj, drop_malformed=drop_invalid, report=report, known=self._metadata)
        if self._has_fast_path and complete(obj, self.structural, self._canonical, defaults=defaults):
            if defaults:
                self._canonical = obj.copy()
            return unknown
        dropped: list[str] = []
        if not self.preserve_unknown_fields:
            dropped = prune(obj, self._resource, report=report)
            prune_non_nullable_nulls_without_defaults(obj, self.structural)
        embedded = coerce(obj, self.structural, drop_invalid=drop_invalid, report=report) if self.structural.has_resources else []
        if defaults:
            self.default(obj)
        return [*unknown, *dropped, *embedded] if report else []

    def coerce_pruned(self, obj: Object, metadata: Object) -> None:
        """Do what `coerce` does to a pruned object. What is the same in the canonical `metadata` is not checked. Raises as `coerce`."""
        if self.structural.has_resources:
            self.coerce(obj)
        else:
            canonical.coerce(obj, known=metadata)

    def default(self, obj: Object) -> None:
        """Set defaults for absent fields and for nulls that the schema does not allow, in place."""
        default(obj, self.structural)

    def is_canonical(self, obj: Object) -> bool:
        """Return whether writing, reading, `coerce` and `default` would leave an object unchanged. False also means unsure."""
        found = (
            self._has_fast_path
            and is_canonical(obj, self.structural, self._canonical)
            and canonical.is_canonical(obj.get("metadata"), self._metadata)
        )
        if found:
            self._canonical = obj.copy()
        return found

    def recall(self, obj: Object) -> None:
        """Remember a canonical, valid object (its `is_checked` was true). Later checks then cover changed members only."""
        self._canonical = self._valid = obj.copy()
        self._metadata = obj["metadata"].copy()

    # --- validation ---------------------------------------------------------------------------------------------------

    def is_valid(self, obj: Object) -> bool:
        """Return whether an object satisfies all keywords of the schema. False also means unsure, as about floats in place of integers."""
        known = self._valid
        if known and (check := self._change_check) is not None:
            # what the metadata contains is not described where members are independent
            valid = check(obj, known | {"metadata": obj.get("metadata")})
        else:
            valid = _has_members_of(obj, known) or self._check(obj)
        # without a fast path, rules may concern the metadata, which may change
        if valid and self._has_fast_path:
            self._valid = obj.copy()
        return valid

    def is_checked(self, obj: Object) -> bool:
        """Return whether the last valid object had these very members: no check is needed."""
        return _has_members_of(obj, self._valid)

    def is_surely_typed(self, obj: Object) -> bool:
        """Return whether a decoded object surely has the schema's types. False for schemas with lists of type set or map."""
        return self._has_fast_path and not self.structural.has_lists and self.is_valid(obj)

    def is_known_typed(self, obj: Object) -> bool:
        """Return whether `is_checked` and `is_surely_typed` are true of an object. Do not check its members."""
        return self.is_checked(obj) and self._has_fast_path and not self.structural.has_lists

    def validate_values(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the violations of the schema's keywords. Tolerate unchanged values of the old object (ratcheting)."""
        if self._check(obj):
            return []
        known = None if old is None else Correlated(obj, old, self.structural.raw)
        return to_field_errors("", self._spec.report_change(obj, DottedPath(), known))

    def validate_status(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the violations in the status, the only part that the status subresource validates."""
        spec = self._spec.properties.get("status")
        if spec is None or "status" not in obj:
            return []
        if self._status_check(obj["status"]):
            return []
        known = None if old is None else Correlated(obj, old, self.structural.raw).key("status")
        return to_field_errors("status", spec.report_change(obj["status"], DottedPath(), known))

    def validate_resources(self, obj: Object) -> list[FieldError]:
        """Return the errors of the type and metadata of embedded resources."""
        if not self.structural.has_resources:
            return []
        return resource_errors(obj, self.structural)

    def validate_lists(self, obj: Object, old: Object | None = None) -> list[FieldError]:
        """Return the repeated items in lists of type set and map. Return none if the old object has repeated items."""
        errors = list_errors(obj, self.structural)
        return [] if errors and old is not None and list_errors(old, self.structural) else errors

    @property
    def has_rules(self) -> bool:
        """Return whether objects have rules (x-kubernetes-validations)."""
        return self.structural.has_rules and self._rules.get() is not None

    def validate_rules(self, obj: Object, old: Object | None = None, *, is_valid: bool = True, tolerant: bool = True) -> RuleResult:
        """Return the rules that an object violates. Violations by unchanged values of the old object are warnings (ratcheting).

        Unless `tolerant`, they are errors, too. `is_valid`: the object surely satisfies all keywords of the schema. Tolerated values may
        exceed the limits of the worst cases, and have other types.
        """
        rules = self._rules.get() if self.structural.has_rules else None
        if rules is None:
            nothing: RuleResult = self._evaluation.RuleResult()
            return nothing
        known = Correlated(obj, old, self.structural.raw) if old is not None and tolerant else None
        result: RuleResult = self._evaluation.evaluate(rules, obj, old, is_valid=is_valid, correlated=known)
        return result

    def rule_costs(self, obj: Object, *, exact: bool) -> RuleResult:
        """Return the result of the rules about a new object with the costs of their evaluation; no costs without rules.

        Unless `exact`, costs are upper bounds for objects that satisfy the schema.
        """
        rules = self._rules.get() if self.structural.has_rules else None
        if rules is None:
            nothing: RuleResult = self._evaluation.RuleResult()
            return nothing
        result: RuleResult = self._evaluation.evaluate(rules, obj, None, is_valid=self.is_valid(obj), exact=exact)
        return result


def _has_members_of(obj: Object, known: Object) -> bool:
    """Return whether an object has the very members of a known one, apart from its metadata."""
    if not obj or len(obj) != len(known):
        return False
    for name, member in obj.items():  # noqa: SIM110 a generator would double the time
        if name != "metadata" and known.get(name, known) is not member:
            return False
    return True
