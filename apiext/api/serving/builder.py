"""Builder of the scopes of a definition.

Mirrors getOrCreateServingInfoFor of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, cast

from apiext.api.endpoints.parameters.options import known_field_labels
from apiext.api.endpoints.responsewriters.table import AGE, NAME, Column, TableConvertor
from apiext.api.endpoints.scopes.dialect import Dialect
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.unchanging_writes import UnchangingWrites
from apiext.api.serving.admitted.builtin_objects import ObjectType, TypedObjects
from apiext.api.serving.admitted.custom_objects import CustomResourceObjects, scale_equivalents
from apiext.api.serving.info import ServingInfo, ServingVersion
from apiext.base.meta.gvk import GroupVersionResource
from apiext.resources.definitions.definition import deprecation_warning
from apiext.resources.evaluation.compiled_version import STATUS, compile_version, scale_paths
from apiext.resources.managedfields.field_manager import FieldManager
from apiext.resources.managedfields.field_set import LEAF, from_paths
from apiext.resources.managedfields.go_merge_types import from_go_type
from apiext.resources.managedfields.scale import ScaleManagers
from apiext.resources.managedfields.versions import BuiltinVersions
from apiext.resources.registry.customresources.scale import KIND as SCALE_KIND
from apiext.resources.registry.customresources.scale import SCALE, ScaleCodec, ScaleRest
from apiext.resources.registry.customresources.strategy import ScalePaths, split_path
from apiext.resources.registry.rest import ResourceRest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.api.admission.attributes import Admission
    from apiext.api.admission.object_interfaces import EquivalentResource
    from apiext.api.endpoints.scopes.scope import CollectionRest
    from apiext.api.serving.info import Notice
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.interface import Converter
    from apiext.resources.definitions.definition import Definition, Version
    from apiext.resources.managedfields.field_set import FieldSet
    from apiext.storage.interface import RemoteCodec, Store

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
    names, namespaced = definition.names, definition.namespaced
    compiled = compile_version(definition, version, converter, cbor=cbor, remote=remote)
    codec = compiled.codec
    rest = ResourceRest(store=store, codec=codec, strategy=compiled.strategies[""], resource=definition.resource, namespaced=namespaced)
    main = Scope(
        kind=codec.gvk,
        resource=GroupVersionResource(definition.group, version.name, names.plural),
        rest=rest,
        codec=codec,
        fields=compiled.fields(),
        admission=admission,
        dialect=Dialect(names.list_kind, TableConvertor(_columns(version)), known_field_labels(_selectable(definition, version))),
        watches=info.watches,
        objects=CustomResourceObjects(definition, version.name, "", codec, converter, compiled.types),
        converts=version.name != definition.storage_version.name,
        unchanging=UnchangingWrites(rest) if codec.conversion is None else None,
    )
    scopes = {"": main}
    if version.has_status:
        scopes[STATUS] = dataclasses.replace(
            main,
            subresource=STATUS,
            objects=CustomResourceObjects(definition, version.name, STATUS, codec, converter, compiled.types),
            rest=dataclasses.replace(rest, strategy=compiled.strategies[STATUS]),
            fields=compiled.fields(STATUS),
        )
    scale = scale_paths(version)
    if scale is not None:
        paths = {f"{definition.group}/{other.name}": _replicas(scale_paths(other)) for other in definition.versions}
        equivalents = scale_equivalents(definition, version.name, SCALE_KIND)
        scopes["scale"] = _scale_scope(main, rest, scale, ScaleManagers(codec.gvk.api_version, paths), equivalents)
    return ServingVersion(scopes, codec, _notices(definition, version), version.deprecated)


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
        # The scale subresource has the verbs get, update and patch only.
        rest=cast("CollectionRest", ScaleRest(rest, paths, managers)),
        unchanging=None,
        codec=ScaleCodec(),
        objects=TypedObjects(ObjectType(SCALE_KIND, ScaleCodec(), None), equivalents, of_custom_resource=True),
        fields=FieldManager(SCALE_KIND, versions, subresource="scale"),
        dialect=dataclasses.replace(main.dialect, table=TableConvertor(_scale_columns(paths)), typed=True, package=SCALE_KIND.version),
    )


def _columns(version: Version) -> tuple[Column, ...]:
    own = [Column(each.name, each.type, each.json_path, each.description, each.format, each.priority) for each in version.printer_columns]
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
