"""ObjectInterfaces of the endpoints of a definition (apiextensions-apiserver pkg/apiserver/customresource_handler.go)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.object_interfaces import EquivalentResource
from apiext.api.serving.admitted.builtin_objects import merge_configuration
from apiext.base.meta import errors, field
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.golang.type_model import Decoder, TypeMismatchError
from apiext.base.meta.gvk import GroupKind, GroupVersionKind, GroupVersionResource, parse_group_version
from apiext.base.meta.objectmeta.canonical import OBJECT_META, is_canonical
from apiext.resources.conversion.known_versions import check_versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition, Version
    from apiext.resources.managedfields.versions import CustomResourceVersions
    from apiext.resources.registry.customresources.codec import CustomResourceCodec


_KINDS: Final = {"number": "int64", "object": "map", "array": "slice"}
"""Go's kinds of values with other names in JSON."""


def check_patched(obj: Object, kind: GroupKind) -> None:
    """Check that the fields of an object's metadata have their types.

    Raises:
        StatusError: 422 for a field of another type.
    """
    metadata = obj.get("metadata")
    if type(metadata) is not dict or is_canonical(metadata):
        return
    try:
        Decoder(report=False).run(OBJECT_META, json_values.copy(metadata))
    except TypeMismatchError as error:
        problem = field.invalid("metadata", metadata, _text(error))
        raise errors.invalid(kind, str(metadata.get("name") or ""), [problem]) from error
    except ValueError:
        # malformed times are dropped
        return


def _text(error: TypeMismatchError) -> str:
    value: Any = _KINDS.get(error.value, error.value)
    if error.type_name.startswith("[]"):
        return f"cannot restore slice from {value}"
    if error.type_name.startswith("map["):
        return f"cannot restore map from {value}"
    return f"cannot convert {value} to {error.type_name}"


@dataclass(frozen=True, slots=True, eq=False)
class CustomResourceObjects:
    """Implements ObjectInterfaces for a custom resource in one version, and for its status."""

    _definition: Definition
    _version: str
    _subresource: str
    _codec: CustomResourceCodec
    _converter: Converter
    _versions: CustomResourceVersions

    def equivalents(self) -> Sequence[EquivalentResource]:
        """Return the other versions of the definition, served or not, that have the subresource."""
        definition = self._definition
        kind = definition.names.kind
        return [
            EquivalentResource(_resource(definition, version), GroupVersionKind(definition.group, version.name, kind))
            for version in definition.versions
            if version.name != self._version and (not self._subresource or version.has_status)
        ]

    async def convert(self, obj: Object, kind: GroupVersionKind) -> Object:
        """Implement ObjectInterfaces.convert."""
        api_version = obj.get("apiVersion")
        if (api_version, obj.get("kind")) == (kind.api_version, kind.kind):
            return obj
        known = {f"{self._definition.group}/{version.name}" for version in self._definition.versions}
        check_versions(_kind(obj), kind.api_version, known)
        if api_version == kind.api_version:
            # the converter changes versions only, and a wrong kind is the validation's concern
            return obj
        (converted,) = await self._converter.convert([json_values.copy(obj)], kind.api_version)
        if isinstance(converted, ValueError):
            raise converted
        return converted

    async def complete(self, obj: Object, *, strict: bool = False) -> Object:
        """Implement ObjectInterfaces.complete. Metadata gets the right types."""
        del strict  # all fields are known
        if not obj.get("kind") or not isinstance(obj["kind"], str):
            raise ValueError(f"Object 'Kind' is missing in '{json_codec.dumps(obj).decode()}'")
        check_patched(obj, GroupKind(self._definition.group, self._definition.names.kind))
        return self._codec.complete(obj)

    async def apply_configuration(self, obj: Object, configuration: Object) -> Object:
        """Implement ObjectInterfaces.apply_configuration."""
        return merge_configuration(self._versions.type_of(str(obj.get("apiVersion"))), obj, configuration)


def _kind(obj: Object) -> GroupVersionKind:
    """Return the kind of an object as the reference reads it: an invalid apiVersion makes it empty."""
    try:
        group, version = parse_group_version(str(obj.get("apiVersion") or ""))
    except ValueError:
        return GroupVersionKind("", "", "")
    return GroupVersionKind(group, version, str(obj.get("kind") or ""))


def _resource(definition: Definition, version: Version) -> GroupVersionResource:
    return GroupVersionResource(definition.group, version.name, definition.names.plural)


def scale_equivalents(definition: Definition, version: str, kind: GroupVersionKind) -> Sequence[EquivalentResource]:
    """Return the other versions of a definition with a scale, whose kind is the same in all."""
    others = (other for other in definition.versions if other.name != version and other.scale is not None)
    return [EquivalentResource(_resource(definition, other), kind) for other in others]
