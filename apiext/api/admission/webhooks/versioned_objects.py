"""The objects of a write in the versions that webhooks get (apiserver pkg/admission/conversion.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiext.base.meta import errors

if TYPE_CHECKING:
    from apiext.api.admission.attributes import Attributes
    from apiext.api.admission.object_interfaces import ObjectInterfaces
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionKind


@dataclass(slots=True)
class VersionedObjects:
    """The new and the old object in one version."""

    kind: GroupVersionKind
    new: Object | None
    old: Object | None


class FixedVersions:
    """The objects of a write that does not change any more; each version is converted once."""

    def __init__(self, attributes: Attributes, objects: ObjectInterfaces) -> None:
        self._attributes = attributes
        self._objects = objects
        self._known: dict[GroupVersionKind, VersionedObjects] = {}

    async def get(self, kind: GroupVersionKind) -> VersionedObjects:
        """Return the objects in the version of a kind.

        Raises:
            StatusError: 500, they cannot be converted.
        """
        known = self._known.get(kind)
        if known is None:
            try:
                known = self._known[kind] = await _converted(self._attributes, self._objects, kind)
            except ValueError as error:
                raise errors.internal(str(error)) from error
        return known


class ChangingVersions:
    """The objects of a write while webhooks change the new one. Changes stay in the version in which they were made as long as possible."""

    def __init__(self, attributes: Attributes, objects: ObjectInterfaces) -> None:
        self._attributes = attributes
        self._objects = objects
        self._current: VersionedObjects | None = None
        self._is_changed = False

    @property
    def new(self) -> Object | None:
        """Return the new object with all changes, in the version of the latest webhook."""
        return self._attributes.new if self._current is None or self._current.new is None else self._current.new

    async def get(self, kind: GroupVersionKind) -> VersionedObjects:
        """Return the objects in the version of a kind.

        Raises:
            StatusError: 500, they cannot be converted.
        """
        if self._current is None or self._current.kind != kind:
            try:
                await self._write_back()
                self._current = await _converted(self._attributes, self._objects, kind)
            except ValueError as error:
                # the reference wraps the error twice
                raise errors.internal(errors.internal(str(error)).message) from error
        return self._current

    def replace(self, new: Object) -> None:
        """Take a new object, in the version of the latest webhook."""
        if self._current is not None:
            self._current.new = new
            self._is_changed = True

    async def finish(self) -> None:
        """Give the write its new object.

        Raises:
            StatusError: 500, it cannot be converted.
        """
        try:
            await self._write_back()
        except ValueError as error:
            raise errors.unknown(str(error)) from error

    async def _write_back(self) -> None:
        if self._is_changed and self._current is not None and self._current.new is not None:
            self._attributes.new = await self._objects.convert(self._current.new, self._attributes.kind)
        self._is_changed = False


async def _converted(attributes: Attributes, objects: ObjectInterfaces, kind: GroupVersionKind) -> VersionedObjects:
    """Return the objects in the version of a kind. Raises ValueError."""
    if kind == attributes.kind:
        return VersionedObjects(kind, _named(attributes.new, kind), attributes.old)
    old = None if attributes.old is None else await objects.convert(attributes.old, kind)
    new = None if attributes.new is None else await objects.convert(attributes.new, kind)
    return VersionedObjects(kind, _named(new, kind), old)


def _named(obj: Object | None, kind: GroupVersionKind) -> Object | None:
    """Return an object with a kind, which a policy may have changed (SetGroupVersionKind)."""
    if obj is None or (obj.get("kind"), obj.get("apiVersion")) == (kind.kind, kind.api_version):
        return obj
    return {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
