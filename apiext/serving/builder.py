"""Builder of the scopes of a definition.

Mirrors getOrCreateServingInfoFor of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from apiext.conversion.factory import ConvertedVersions
from apiext.conversion.interface import CarryingConverter
from apiext.definitions.deprecation import deprecation_warning
from apiext.endpoints.parameters.options import known_field_labels
from apiext.endpoints.responsewriters.table import AGE, NAME, Column, TableConvertor
from apiext.endpoints.scopes.scope import Scope
from apiext.managedfields.field_manager import FieldManager
from apiext.managedfields.field_set import LEAF, from_paths, union
from apiext.managedfields.go_merge_types import from_go_type
from apiext.managedfields.scale import ScaleManagers
from apiext.managedfields.versions import BuiltinVersions, CustomResourceVersions
from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.registry.customresources.codec import CustomResourceCodec
from apiext.registry.customresources.scale import KIND as SCALE_KIND
from apiext.registry.customresources.scale import SCALE, ScaleCodec, ScaleRest
from apiext.registry.customresources.status import StatusStrategy
from apiext.registry.customresources.strategy import CustomResourceStrategy, ScalePaths, split_path
from apiext.registry.rest import ResourceRest
from apiext.schema.compiled import CompiledSchema
from apiext.serving.admitted.builtin_objects import ObjectType, TypedObjects
from apiext.serving.admitted.custom_objects import CustomResourceObjects, scale_equivalents
from apiext.serving.info import ServingInfo, ServingVersion

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from apiext.admission.attributes import Admission
    from apiext.admission.object_interfaces import EquivalentResource
    from apiext.conversion.interface import Converter
    from apiext.definitions.definition import Definition, Version
    from apiext.endpoints.scopes.scope import CollectionRest
    from apiext.managedfields.field_set import FieldSet
    from apiext.meta.encoding.json_codec import Object
    from apiext.schema.model import Props
    from apiext.serving.info import Notice
    from apiext.storage.interface import RemoteCodec, Store

_STATUS: Final = from_paths(("f:status",))
_NOT_STATUS: Final = from_paths(("f:metadata",), ("f:spec",))
"""Fields of the resource and of its status that the strategies reset."""
_UNCONVERTIBLE: Final = f"request to convert CR to an invalid group/version: {SCALE_KIND.api_version}"
_META_FIELDS: Final = frozenset({"metadata.name", "metadata.namespace"})


def build_version(
    info: ServingInfo,
    version: Version,
    store: Store,
    admission: Admission,
    converter: Converter,
    *,
    cbor: bool = False,
    remote: RemoteCodec | None = None,
) -> ServingVersion:
    """Return the scopes and the codec of one version, which stores CBOR if `cbor` is set. `remote` is the codec's copy."""
    definition = info.definition
    names, namespaced, scale = definition.names, definition.namespaced, _scale_paths(version)
    roots = _root_schemas(definition)
    schemas = _compiled(definition, roots)
    codec = _codec(definition, version, schemas, converter, cbor=cbor, remote=remote)
    kind = codec.gvk
    strategy = _strategy(kind, definition, version, schemas[version.name], _carrying(converter))
    rest = ResourceRest(store=store, codec=codec, strategy=strategy, resource=definition.resource, namespaced=namespaced)
    with_schema = {name for name, root in roots.items() if root}
    versions = _merged_versions(definition, kind, schemas, with_schema, converter, codec)
    main = Scope(
        kind=kind,
        resource=GroupVersionResource(definition.group, version.name, names.plural),
        rest=rest,
        codec=codec,
        fields=_field_manager(definition, version, versions, converter),
        field_label=known_field_labels(_selectable(definition, version)),
        admission=admission,
        watches=info.watches,
        objects=CustomResourceObjects(definition, version.name, "", codec, converter, versions),
        namespaced=namespaced,
        list_kind=names.list_kind,
        converts=version.name != definition.storage_version.name,
        table=TableConvertor(_columns(version)),
    )
    scopes = {"": main}
    if version.has_status:
        scopes["status"] = dataclasses.replace(
            main,
            subresource="status",
            objects=CustomResourceObjects(definition, version.name, "status", codec, converter, versions),
            rest=dataclasses.replace(rest, strategy=StatusStrategy(strategy)),
            fields=_field_manager(definition, version, versions, converter, subresource="status"),
        )
    if scale is not None:
        paths = {f"{definition.group}/{other.name}": _replicas(_scale_paths(other)) for other in definition.versions}
        equivalents = scale_equivalents(definition, version.name, SCALE_KIND)
        scopes["scale"] = _scale_scope(main, rest, scale, ScaleManagers(kind.api_version, paths), equivalents)
    return ServingVersion(scopes, codec, _notices(definition, version), version.deprecated)


def _strategy(
    kind: GroupVersionKind, definition: Definition, version: Version, rules: CompiledSchema, carrying: CarryingConverter | None
) -> CustomResourceStrategy:
    return CustomResourceStrategy(
        kind=kind,
        namespaced=definition.namespaced,
        rules=rules,
        has_status=version.has_status,
        scale=_scale_paths(version),
        carrying=carrying,
    )


def _carrying(converter: Converter) -> CarryingConverter | None:
    return converter if isinstance(converter, CarryingConverter) else None


def _field_manager(
    definition: Definition, version: Version, versions: CustomResourceVersions, converter: Converter, subresource: str = ""
) -> FieldManager:
    """Return the manager of the fields of a version. What the strategies reset and what is carried has no manager."""
    kind = GroupVersionKind(definition.group, version.name, definition.names.kind)
    if subresource:
        reset = {f"{definition.group}/{other.name}": _NOT_STATUS for other in definition.versions if other.has_status}
    else:
        reset = {kind.api_version: _STATUS} if version.has_status else {}
    carrying = _carrying(converter)
    if carrying is not None:
        # imported with the first rules
        from apiext.conversion.rules.carried.annotation import CARRIED

        carried = from_paths(("f:metadata", "f:annotations", f"f:{CARRIED}"))
        names = [f"{definition.group}/{other.name}" for other in definition.versions]
        reset = {name: union(reset.get(name, LEAF), carried) for name in names}
    return FieldManager(kind, versions, reset, subresource=subresource, carrying=carrying)


def _codec(
    definition: Definition,
    version: Version,
    schemas: Mapping[str, CompiledSchema],
    converter: Converter,
    *,
    cbor: bool,
    remote: RemoteCodec | None,
) -> CustomResourceCodec:
    return CustomResourceCodec(
        kind=GroupVersionKind(definition.group, version.name, definition.names.kind),
        storage_version=definition.storage_version.name,
        schemas=schemas,
        converter=converter,
        namespaced=definition.namespaced,
        selectable_fields=version.selectable_fields,
        cbor=cbor,
        remote=remote,
    )


def version_schemas(definition: Definition) -> dict[str, CompiledSchema]:
    """Return the schemas of all versions: stored objects may have any version. Each is compiled at first use."""
    return _compiled(definition, _root_schemas(definition))


def _root_schemas(definition: Definition) -> dict[str, Props | None]:
    """Return the schemas of all versions. The definition is parsed once for all."""
    return {version["name"]: (version.get("schema") or {}).get("openAPIV3Schema") for version in definition.object["spec"]["versions"]}


def _compiled(definition: Definition, roots: Mapping[str, Props | None]) -> dict[str, CompiledSchema]:
    preserve = definition.preserve_unknown_fields
    return {name: CompiledSchema(root, preserve_unknown_fields=preserve) for name, root in roots.items()}


def converted_versions(definition: Definition) -> ConvertedVersions:
    """Return what conversion rules must know of a definition."""
    names = [version.name for version in definition.versions]
    return ConvertedVersions(partial(version_schemas, definition), names, definition.storage_version.name)


def _merged_versions(
    definition: Definition,
    kind: GroupVersionKind,
    schemas: Mapping[str, CompiledSchema],
    with_schema: Container[str],
    converter: Converter,
    codec: CustomResourceCodec,
) -> CustomResourceVersions:
    """Return the merge types of a definition's versions, of which some have a schema."""
    return CustomResourceVersions(
        kind,
        {f"{definition.group}/{name}": schema.structural if name in with_schema else None for name, schema in schemas.items()},
        converter,
        codec.complete,
        preserve_unknown_fields=definition.preserve_unknown_fields,
        is_surely_typed=schemas[kind.version].is_surely_typed,
        is_known_typed=schemas[kind.version].is_known_typed,
    )


def _scale_paths(version: Version) -> ScalePaths | None:
    scale = version.scale
    if scale is None:
        return None
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def _replicas(paths: ScalePaths | None) -> FieldSet:
    """Return the path of the replicas, an empty set without a scale."""
    return from_paths(tuple(f"f:{name}" for name in split_path(paths.spec_replicas))) if paths is not None else LEAF


def _inconvertible(_obj: Object | None = None) -> Object:
    """Raise ValueError: like the reference, refuse to convert an untyped Scale."""
    raise ValueError(_UNCONVERTIBLE)


def _no_empty_scale() -> Object:
    """Raise ValueError as `_inconvertible`, with the reference's description of an empty Scale."""
    kind = f"{SCALE_KIND.api_version}, Kind={SCALE_KIND.kind}"
    raise ValueError(f"failed to convert live object (/; {kind}) to proper version: {_UNCONVERTIBLE}")


def _scale_scope(
    main: Scope, rest: ResourceRest, paths: ScalePaths, managers: ScaleManagers, equivalents: Sequence[EquivalentResource]
) -> Scope:
    versions = BuiltinVersions(from_go_type(SCALE), _no_empty_scale, _inconvertible)
    return dataclasses.replace(
        main,
        subresource="scale",
        kind=SCALE_KIND,
        package=SCALE_KIND.version,
        # The scale subresource has the verbs get, update and patch only.
        rest=cast("CollectionRest", ScaleRest(rest, paths, managers)),
        codec=ScaleCodec(),
        objects=TypedObjects(ObjectType(SCALE_KIND, ScaleCodec(), None), equivalents, of_custom_resource=True),
        fields=FieldManager(SCALE_KIND, versions, subresource="scale"),
        typed=True,
        table=TableConvertor(_scale_columns(paths)),
    )


def _columns(version: Version) -> tuple[Column, ...]:
    own = (
        Column(
            name=column.name,
            type=column.type,
            path=column.json_path,
            description=column.description,
            format=column.format,
            priority=column.priority,
        )
        for column in version.printer_columns
    )
    return (NAME, *own)


def _scale_columns(paths: ScalePaths) -> list[Column]:
    columns = [NAME]
    if paths.spec_replicas:
        columns.append(Column("Desired", "integer", ".spec.replicas", "Number of desired replicas"))
    if paths.status_replicas:
        columns.append(Column("Available", "integer", ".status.replicas", "Number of actual replicas"))
    return [*columns, AGE]


def _selectable(definition: Definition, version: Version) -> frozenset[str]:
    """Return the field labels that field selectors may use."""
    labels = _META_FIELDS if definition.namespaced else _META_FIELDS - {"metadata.namespace"}
    return labels | {path.removeprefix(".") for path in version.selectable_fields}


def _notices(definition: Definition, version: Version) -> tuple[Notice, ...]:
    if not version.deprecated:
        return ()
    warnings = (deprecation_warning(definition, version),)
    return (lambda _: warnings,)
