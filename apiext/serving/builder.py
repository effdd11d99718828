"""Builder of the scopes of a definition.

Mirrors getOrCreateServingInfoFor of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from apiext.admission.terminating_definition import ForbidCreate
from apiext.conversion.none import NoneConverter
from apiext.endpoints.handlers.options import known_field_labels
from apiext.endpoints.handlers.scope import Scope
from apiext.endpoints.responsewriters.table import AGE, NAME, Column, TableConvertor
from apiext.meta import errors
from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.meta.kube_version import kube_aware_key
from apiext.registry.customresource import CustomResourceStrategy, ScalePaths
from apiext.registry.customresource_codec import CustomResourceCodec
from apiext.registry.rest import ResourceRest
from apiext.registry.scale import KIND as SCALE
from apiext.registry.scale import ScaleCodec, ScaleRest
from apiext.registry.status import StatusStrategy
from apiext.schema.compiled import CompiledSchema
from apiext.serving.info import ServingInfo, ServingVersion

if TYPE_CHECKING:
    from apiext.admission.attributes import Admission
    from apiext.definitions.definition import Definition, Version
    from apiext.endpoints.handlers.scope import CollectionRest
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Store

_META_FIELDS: Final = frozenset({"metadata.name", "metadata.namespace"})


def build_version(info: ServingInfo, version: Version, store: Store, admission: Admission) -> ServingVersion:
    """Return the scopes and the codec of one version."""
    definition = info.definition
    names, namespaced, scale = definition.names, definition.namespaced, _scale_paths(version)
    kind = GroupVersionKind(definition.group, version.name, names.kind)
    schemas = _schemas(definition)
    codec = CustomResourceCodec(
        kind=kind,
        storage_version=definition.storage_version.name,
        shapes=schemas,
        converter=NoneConverter() if definition.conversion_strategy == "None" else _UnsupportedWebhook(definition.name),
        namespaced=namespaced,
        selectable_fields=version.selectable_fields,
    )
    rules = schemas[version.name]
    strategy = CustomResourceStrategy(kind=kind, namespaced=namespaced, rules=rules, has_status=version.has_status, scale=scale)
    rest = ResourceRest(store=store, codec=codec, strategy=strategy, resource=definition.resource, namespaced=namespaced)
    main = Scope(
        kind=kind,
        resource=GroupVersionResource(definition.group, version.name, names.plural),
        rest=rest,
        codec=codec,
        field_label=known_field_labels(_selectable(definition, version)),
        admission=ForbidCreate(admission, info.ending),
        watches=info.watches,
        namespaced=namespaced,
        list_kind=names.list_kind,
        table=TableConvertor(_columns(version)),
    )
    scopes = {"": main}
    if version.has_status:
        scopes["status"] = dataclasses.replace(
            main, subresource="status", rest=dataclasses.replace(rest, strategy=StatusStrategy(strategy))
        )
    if scale is not None:
        scopes["scale"] = _scale_scope(main, rest, scale)
    return ServingVersion(scopes, codec, _warnings(definition, version))


def _schemas(definition: Definition) -> dict[str, CompiledSchema]:
    """Return the schemas of all versions, since stored objects may have any version. Each is compiled with its first use."""
    preserve = definition.preserve_unknown_fields
    # parsed once for all versions
    schemas = {version["name"]: (version.get("schema") or {}).get("openAPIV3Schema") for version in definition.object["spec"]["versions"]}
    return {name: CompiledSchema(schema, preserve_unknown_fields=preserve) for name, schema in schemas.items()}


class _UnsupportedWebhook:
    """Refuses conversion: conversion webhooks are not implemented."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    async def convert(self, objects: Sequence[Object], api_version: str) -> Sequence[Object]:
        """Raise StatusError (503)."""
        raise errors.service_unavailable(
            f"{self._name} requires a conversion webhook, which this server does not support: "
            f"{objects[0].get('kind')} of {objects[0].get('apiVersion')} cannot be converted to {api_version}"
        )


def _scale_paths(version: Version) -> ScalePaths | None:
    scale = version.scale
    if scale is None:
        return None
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", ""))


def _scale_scope(main: Scope, rest: ResourceRest, paths: ScalePaths) -> Scope:
    return dataclasses.replace(
        main,
        subresource="scale",
        kind=SCALE,
        package=SCALE.version,
        # The scale subresource has the verbs get, update and patch only.
        rest=cast("CollectionRest", ScaleRest(rest, paths)),
        codec=ScaleCodec(),
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


def _warnings(definition: Definition, version: Version) -> tuple[str, ...]:
    if not version.deprecated:
        return ()
    if version.deprecation_warning is not None:
        return (version.deprecation_warning,)
    kind = definition.names.kind
    text = f"{definition.group}/{version.name} {kind} is deprecated"
    served = [other.name for other in definition.versions if other.served and not other.deprecated]
    better = [name for name in served if kube_aware_key(name) < kube_aware_key(version.name)]
    if better:
        text += f"; use {definition.group}/{min(better, key=kube_aware_key)} {kind}"
    return (text,)
