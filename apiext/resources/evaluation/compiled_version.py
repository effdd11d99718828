"""The versions of a definition, compiled: codecs, strategies and field managers (apiextensions-apiserver customresource_handler.go)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.conversion.factory import ConvertedVersions
from apiext.resources.managedfields.field_manager import FieldManager
from apiext.resources.managedfields.field_set import LEAF, from_paths, union
from apiext.resources.managedfields.versions import CustomResourceVersions
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from apiext.resources.registry.customresources.status import StatusStrategy
from apiext.resources.registry.customresources.strategy import CustomResourceStrategy, ScalePaths
from apiext.schema.compiled import CompiledSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition, Version
    from apiext.resources.registry.strategy import Strategy
    from apiext.schema.model import Props
    from apiext.storage.interface import RemoteCodec

STATUS: Final = "status"
"""The subresource and the member."""
_OF_STATUS: Final = from_paths(("f:status",))
_NOT_OF_STATUS: Final = from_paths(("f:metadata",), ("f:spec",))
"""Fields of the resource and of its status that the strategies reset."""


@dataclass(frozen=True, slots=True)
class CompiledVersion:
    """One version of a definition. Each schema is compiled at first use."""

    definition: Definition
    version: Version
    converter: Converter
    codec: CustomResourceCodec
    strategies: Mapping[str, Strategy]
    """The strategies of the resource ("") and of its status, if it has that subresource."""
    rules: CompiledSchema
    """The schema of the version."""
    types: CustomResourceVersions
    """The merge types of all versions."""

    @property
    def kind(self) -> GroupVersionKind:
        """Return the kind of the objects in this version."""
        return self.codec.gvk

    def fields(self, subresource: str = "") -> FieldManager:
        """Return a new manager of the fields. What the strategies reset and what is carried has no manager."""
        definition, version = self.definition, self.version
        if subresource:
            reset = {f"{definition.group}/{other.name}": _NOT_OF_STATUS for other in definition.versions if other.has_status}
        else:
            reset = {self.kind.api_version: _OF_STATUS} if version.has_status else {}
        carrying = self.converter.carrying
        if carrying is not None:
            # imported with the first rules
            from apiext.resources.conversion.rules.carried.annotation import CARRIED

            carried = from_paths(("f:metadata", "f:annotations", f"f:{CARRIED}"))
            names = [f"{definition.group}/{other.name}" for other in definition.versions]
            reset = {name: union(reset.get(name, LEAF), carried) for name in names}
        return FieldManager(self.kind, self.types, reset, subresource=subresource, carrying=carrying)


def compile_version(
    definition: Definition, version: Version, converter: Converter, *, cbor: bool = False, remote: RemoteCodec | None = None
) -> CompiledVersion:
    """Return one version of a definition, which stores CBOR if `cbor` is set. `remote` is the codec's copy in worker processes."""
    roots = _root_schemas(definition)
    schemas = _compiled(definition, roots)
    codec = CustomResourceCodec(
        kind=GroupVersionKind(definition.group, version.name, definition.names.kind),
        storage_version=definition.storage_version.name,
        schemas=schemas,
        converter=converter,
        namespaced=definition.namespaced,
        selectable_fields=version.selectable_fields,
        cbor=cbor,
        remote=remote,
    )
    rules = schemas[version.name]
    main = CustomResourceStrategy(
        kind=codec.gvk,
        namespaced=definition.namespaced,
        rules=rules,
        has_status=version.has_status,
        scale=scale_paths(version),
        carrying=converter.carrying,
    )
    strategies: dict[str, Strategy] = {"": main}
    if version.has_status:
        strategies[STATUS] = StatusStrategy(main)
    types = CustomResourceVersions(
        codec.gvk,
        {f"{definition.group}/{name}": schema.structural if roots[name] else None for name, schema in schemas.items()},
        converter,
        codec.complete,
        preserve_unknown_fields=definition.preserve_unknown_fields,
        is_surely_typed=rules.is_surely_typed,
        is_known_typed=rules.is_known_typed,
    )
    return CompiledVersion(definition, version, converter, codec, strategies, rules, types)


def version_schemas(definition: Definition) -> dict[str, CompiledSchema]:
    """Return the schemas of all versions: stored objects may have any version. Each is compiled at first use."""
    return _compiled(definition, _root_schemas(definition))


def converted_versions(definition: Definition) -> ConvertedVersions:
    """Return what conversion rules must know of a definition."""
    names = [version.name for version in definition.versions]
    return ConvertedVersions(partial(version_schemas, definition), names, definition.storage_version.name)


def scale_paths(version: Version) -> ScalePaths | None:
    """Return the paths of the scale subresource, or None without one."""
    scale = version.scale
    if scale is None:
        return None
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def _root_schemas(definition: Definition) -> dict[str, Props | None]:
    """Return the schemas of all versions. The definition is parsed once for all."""
    return {version["name"]: (version.get("schema") or {}).get("openAPIV3Schema") for version in definition.object["spec"]["versions"]}


def _compiled(definition: Definition, roots: Mapping[str, Props | None]) -> dict[str, CompiledSchema]:
    preserve = definition.preserve_unknown_fields
    return {name: CompiledSchema(root, preserve_unknown_fields=preserve) for name, root in roots.items()}
