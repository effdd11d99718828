"""Merge types and conversion of the versions in managedFields (typeconverter.go, versionconverter.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.known_versions import check_versions
from apiext.resources.managedfields.structural_types import from_schema
from apiext.resources.managedfields.updater import MissingVersionError, TypedValue
from apiext.resources.managedfields.validation import check

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.managedfields.merge_types import MergeType
    from apiext.schema.model import Structural


class Versions(Protocol):
    """The version of an endpoint's objects, and the other versions of managers."""

    @property
    def merge_type(self) -> MergeType:
        """Return the type of the objects of the endpoint."""
        ...

    def type_of(self, version: str) -> MergeType | None:
        """Return the type of the objects of a version, None for an unknown version."""
        ...

    async def convert(self, value: TypedValue, version: str) -> TypedValue:
        """Implement VersionConverter.convert."""
        ...

    def is_surely_typed(self, obj: Object) -> bool:
        """Return whether a decoded object of the endpoint's version surely matches the type. False also means that `check` must tell."""
        ...

    def is_known_typed(self, obj: Object) -> bool:
        """Return whether `is_surely_typed` was just true of an object, or its stored Item `is_checked`. Does not check members."""
        ...

    def empty(self) -> Object:
        """Return an object without fields that a client can set. Raises ValueError if the kind has none."""
        ...

    def complete(self, obj: Object) -> Object:
        """Complete the result of an apply: its kind's form, with defaults. Raises ValueError if that is impossible."""
        ...


class BuiltinVersions:
    """Implements Versions for a built-in kind, which has one version."""

    def __init__(self, merge_type: MergeType, empty: Callable[[], Object], complete: Callable[[Object], Object]) -> None:
        self.merge_type = merge_type
        self.empty = empty
        self.complete = complete

    def type_of(self, _version: str) -> MergeType:
        """Return the only type."""
        return self.merge_type

    def is_surely_typed(self, _obj: Object) -> bool:
        """Return False."""
        return False

    def is_known_typed(self, _obj: Object) -> bool:
        """Return False."""
        return False

    async def convert(self, value: TypedValue, version: str) -> TypedValue:
        """Raise MissingVersionError."""
        raise MissingVersionError


class CustomResourceVersions:
    """Implements Versions for the versions of a CRD, whose types are made on first use."""

    def __init__(
        self,
        kind: GroupVersionKind,
        schemas: Mapping[str, Structural | None],
        converter: Converter,
        complete: Callable[[Object], Object],
        *,
        preserve_unknown_fields: bool = False,
        is_surely_typed: Callable[[Object], bool] = lambda _obj: False,
        is_known_typed: Callable[[Object], bool] = lambda _obj: False,
    ) -> None:
        """Create the versions of a kind. The keys of `schemas` are apiVersions; a schema is None if its version has none."""
        self._kind = kind
        self._schemas = schemas
        self._converter = converter
        self._preserve = preserve_unknown_fields
        self._types: dict[str, MergeType] = {}
        self.complete = complete
        self.is_surely_typed = is_surely_typed
        self.is_known_typed = is_known_typed

    @cached_property
    def merge_type(self) -> MergeType:
        """Return the type of the objects of the endpoint."""
        return self._type(self._kind.api_version)

    def empty(self) -> Object:
        """Return apiVersion and kind."""
        return {"apiVersion": self._kind.api_version, "kind": self._kind.kind}

    def type_of(self, version: str) -> MergeType | None:
        """Implement Versions.type_of."""
        return self._type(version) if version in self._schemas else None

    def _type(self, version: str) -> MergeType:
        found = self._types.get(version)
        if found is None:
            found = self._types[version] = from_schema(self._schemas[version], preserve=self._preserve)
        return found

    async def convert(self, value: TypedValue, version: str) -> TypedValue:
        """Implement VersionConverter.convert, by way of the endpoint's version, as the reference does.

        Raises:
            ValueError: the CRD does not have the version. The reference then keeps the managers of updates, and refuses applies.
        """
        check_versions(self._kind, version, self._schemas)
        merge_type = self._type(version)
        if value.value.get("apiVersion") == version:
            return value
        obj = json_values.copy(value.value)
        for target in (self._kind.api_version, version):
            if obj.get("apiVersion") != target:
                (converted,) = await self._converter.convert([obj], target)
                if isinstance(converted, ValueError):
                    raise converted
                obj = converted
        check(merge_type, obj)
        return TypedValue(obj, merge_type, version)
