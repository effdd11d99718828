"""The scale subresource of custom resources (apiextensions-apiserver pkg/registry/customresource/etcd.go, ScaleREST)."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Protocol

from apiext.base.meta import errors, unstructured
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.golang.type_model import Decoder
from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.registry.customresources.strategy import ScalePaths, split_path
from apiext.resources.registry.metadata import own
from apiext.storage.interface import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.request import AdmissionOperation
    from apiext.resources.registry.request_context import RequestContext, UpdateOptions, Updater
    from apiext.resources.registry.rest import ResourceRest

KIND: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_UNSET: Final = -(2**31)
"""Replicas in the Scale of an object without replicas. An update must set another number."""
_SHOWN: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
SCALE: Final = struct_of(KIND)


class ScaleCodec:
    """Decodes bodies of autoscaling/v1 Scale."""

    gvk: Final = KIND
    cbor: Final = False

    def decode_body(self, obj: Object, report: bool) -> list[str]:  # noqa: FBT001
        """Bring a parsed body into the form of the type, in place. With `report`, return the strict decoding errors.

        Raises:
            ValueError: a field has the wrong type.
        """
        strict = Decoder(report=report).run(SCALE, obj)
        scale = SCALE.canonical(obj)
        obj.clear()
        obj.update(scale)
        return strict


Entries = list["Object"] | None
"""The value of metadata.managedFields."""


class FieldTranslator(Protocol):
    """Translates the managedFields of an object to those of its scale, and back."""

    def to_scale(self, parent: Entries) -> Entries:
        """Return the entries of the scale. Raises ValueError for invalid entries."""
        ...

    def to_parent(self, parent: Entries, scale: Entries) -> Entries:
        """Return the entries of the object after an update of its scale. Raises ValueError for invalid entries."""
        ...


class ScaleRest:
    """get, update and patch of the scale of one resource."""

    __slots__ = ("_fields", "_paths", "_resource", "_selector", "_spec", "_status")

    def __init__(self, resource: ResourceRest, paths: ScalePaths, fields: FieldTranslator) -> None:
        self._resource = resource
        self._paths = paths
        self._fields = fields
        self._spec = split_path(paths.spec_replicas)
        self._status = split_path(paths.status_replicas)
        self._selector = split_path(paths.label_selector) if paths.label_selector else None

    async def get(self, ctx: RequestContext, name: str, *, resource_version: str = "") -> Item:
        """Return the scale of one object.

        Raises:
            StatusError: the object has no replicas, or cannot be read.
        """
        item = await self._resource.get(ctx, name, resource_version=resource_version)
        scale, is_set = self.shown(item.object())
        if not is_set:
            raise errors.internal(f'the spec replicas field "{self._paths.spec_replicas}" does not exist')
        return _as_item(item, scale)

    async def update(self, ctx: RequestContext, name: str, updater: Updater, options: UpdateOptions) -> tuple[Item, bool]:
        """Set the number of replicas. The updater and admission get Scale objects.

        Raises:
            StatusError: the update is invalid or refused.
        """

        async def change(existing: Object) -> Object:
            found, is_set = self.shown(existing)
            if not is_set:
                found["spec"]["replicas"] = _UNSET
            managers = existing["metadata"].get("managedFields")
            _set_managers(found["metadata"], _translated(self._fields.to_scale, managers))
            scale = await updater(found)
            replicas = scale.get("spec", {}).get("replicas", 0)
            if replicas == _UNSET:
                path = self._paths.spec_replicas
                raise errors.bad_request(f'the spec replicas field "{path}" cannot be empty')
            obj = own(existing)
            try:
                unstructured.put(obj, self._spec, replicas)
            except ValueError as error:
                raise errors.unknown(str(error)) from error
            version = scale.get("metadata", {}).get("resourceVersion")
            if version:
                obj["metadata"]["resourceVersion"] = version
            changed = scale.get("metadata", {}).get("managedFields")
            _set_managers(obj["metadata"], _translated(self._fields.to_parent, managers, changed))
            return obj

        item, _ = await self._resource.update(ctx, name, change, self._options(options))
        return _as_item(item, self.shown(item.object())[0]), False

    def _options(self, options: UpdateOptions) -> UpdateOptions:
        admit = options.admit
        if admit is None:
            return options

        async def admit_scale(operation: AdmissionOperation, new: Object | None, old: Object | None) -> None:
            await admit(operation, new and self.shown(new)[0], old and self.shown(old)[0])

        return dataclasses.replace(options, admit=admit_scale)

    def shown(self, obj: Object) -> tuple[Object, bool]:
        """Return the Scale of an object, and whether the object sets spec replicas.

        Raises:
            StatusError: 500 if a path holds a value of the wrong type.
        """
        try:
            wanted = unstructured.get_int(obj, self._spec)
            current = unstructured.get_int(obj, self._status) or 0
            selector = self.selector_of(obj)
        except ValueError as error:
            raise errors.unknown(str(error)) from error
        metadata = obj["metadata"]
        replicas = _as_int32(wanted or 0)
        status: Object = {"replicas": _as_int32(current)}
        if selector:
            status["selector"] = selector
        scale = {
            "kind": KIND.kind,
            "apiVersion": KIND.api_version,
            "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }
        return scale, wanted is not None

    def selector_of(self, obj: Object) -> str | None:
        """Return the label selector of an object's pods as text.

        Raises:
            ValueError: the path holds a value of the wrong type.
        """
        return unstructured.get_string(obj, self._selector) if self._selector else None


def _translated(translate: Callable[..., Entries], *entries: Entries) -> Entries:
    """Translate managedFields. Raise StatusError (500) for invalid ones."""
    try:
        return translate(*entries)
    except ValueError as error:
        raise errors.unknown(str(error)) from error


def _set_managers(metadata: Object, entries: Entries) -> None:
    if entries:
        metadata["managedFields"] = entries
    else:
        metadata.pop("managedFields", None)


def _as_int32(number: int) -> int:
    """Return a number truncated to 32 bits, the size in a Scale. An object of another version may have a larger one."""
    return (number + 2**31) % 2**32 - 2**31


def _as_item(item: Item, scale: Object) -> Item:
    data = json_codec.dumps(scale, sort_keys=False)
    return Item(key=item.key, revision=item.revision, data=data, labels={}, fields=item.fields)
