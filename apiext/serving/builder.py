"""Builder of scopes from a definition: one function for each part.

Mirrors getOrCreateServingInfoFor of apiextensions-apiserver pkg/apiserver/customresource_handler.go.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from apiext.admission.terminating_definition import ForbidCreate
from apiext.conversion.none import NoneConverter
from apiext.endpoints.handlers.scope import Scope
from apiext.endpoints.responsewriters.table import AGE, NAME, Column, TableConvertor
from apiext.meta import errors
from apiext.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.registry.customresource import CustomResourceStrategy, ScalePaths
from apiext.registry.customresource_codec import CustomResourceCodec
from apiext.registry.rest import ResourceRest
from apiext.registry.scale import KIND as SCALE
from apiext.registry.scale import ScaleCodec, ScaleRest
from apiext.registry.status import StatusRest
from apiext.schema.compiled import CompiledSchema
from apiext.serving.info import ServingInfo, ServingVersion

if TYPE_CHECKING:
    from apiext.admission.attributes import Admission
    from apiext.conversion.interface import Converter
    from apiext.definitions.definition import Definition, Version
    from apiext.endpoints.handlers.scope import CollectionRest
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Store

_KUBE_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY: Final = {"alpha": 0, "beta": 1, None: 2}
_META_FIELDS: Final = frozenset({"metadata.name", "metadata.namespace"})


def build_version(info: ServingInfo, version: Version, store: Store, admission: Admission) -> ServingVersion:
    """Return the scopes and the codec of one version."""
    definition = info.definition
    kind = GroupVersionKind(definition.group, version.name, definition.names.kind)
    schemas = _schemas(definition)
    codec = _codec(definition, version, kind, schemas)
    strategy = _strategy(definition, version, kind, schemas[version.name])
    rest = _rest(definition, kind, store, codec, strategy)
    main = Scope(
        kind=kind,
        resource=GroupVersionResource(definition.group, version.name, definition.names.plural),
        rest=rest,
        codec=codec,
        field_label=functools.partial(_field_label, _selectable(definition, version)),
        admission=ForbidCreate(admission, info.ending),
        watches=info.watches,
        namespaced=definition.namespaced,
        list_kind=definition.names.list_kind,
        table=TableConvertor(_columns(version)),
    )
    scopes = {"": main}
    if version.has_status:
        scopes["status"] = _status_scope(main, rest, strategy)
    if version.scale is not None:
        scopes["scale"] = _scale_scope(main, rest, _scale_paths(version.scale))
    return ServingVersion(
        scopes=scopes,
        codec=codec,
        warnings=_warnings(definition, version),
    )


def _schemas(definition: Definition) -> dict[str, CompiledSchema]:
    """Return the schemas of all versions, since stored objects may have any version. Each is compiled with its first use."""
    preserve = definition.preserve_unknown_fields
    return {version.name: CompiledSchema(version.schema, preserve_unknown_fields=preserve) for version in definition.versions}


def _codec(definition: Definition, version: Version, kind: GroupVersionKind, schemas: Mapping[str, CompiledSchema]) -> CustomResourceCodec:
    return CustomResourceCodec(
        kind=kind,
        storage_version=definition.storage_version.name,
        shapes=schemas,
        converter=_converter(definition),
        namespaced=definition.namespaced,
        selectable_fields=version.selectable_fields,
    )


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


def _converter(definition: Definition) -> Converter:
    return NoneConverter() if definition.conversion_strategy == "None" else _UnsupportedWebhook(definition.name)


def _strategy(definition: Definition, version: Version, kind: GroupVersionKind, shape: CompiledSchema) -> CustomResourceStrategy:
    return CustomResourceStrategy(
        kind=kind,
        namespaced=definition.namespaced,
        rules=shape,
        has_status=version.has_status,
        scale=_scale_paths(version.scale) if version.scale is not None else None,
    )


def _scale_paths(scale: Mapping[str, str]) -> ScalePaths:
    return ScalePaths(
        spec_replicas=scale["specReplicasPath"],
        status_replicas=scale["statusReplicasPath"],
        label_selector=scale.get("labelSelectorPath", ""),
    )


def _rest(
    definition: Definition,
    kind: GroupVersionKind,
    store: Store,
    codec: CustomResourceCodec,
    strategy: CustomResourceStrategy,
) -> ResourceRest:
    return ResourceRest(
        store=store,
        codec=codec,
        strategy=strategy,
        resource=definition.resource,
        kind=kind,
        namespaced=definition.namespaced,
    )


def _status_scope(main: Scope, rest: ResourceRest, strategy: CustomResourceStrategy) -> Scope:
    return dataclasses.replace(main, subresource="status", rest=StatusRest(rest, strategy))


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


def _field_label(labels: frozenset[str], label: str, value: str) -> tuple[str, str]:
    if label not in labels:
        raise ValueError(f"field label not supported: {label}")
    return label, value


# --- deprecation ----------------------------------------------------------------------------------------------------


def _warnings(definition: Definition, version: Version) -> tuple[str, ...]:
    if not version.deprecated:
        return ()
    if version.deprecation_warning is not None:
        return (version.deprecation_warning,)
    kind = definition.names.kind
    text = f"{definition.group}/{version.name} {kind} is deprecated"
    better = [
        other.name
        for other in definition.versions
        if other.served and not other.deprecated and version_order(other.name) > version_order(version.name)
    ]
    if better:
        text += f"; use {definition.group}/{max(better, key=version_order)} {kind}"
    return (text,)


def version_order(name: str) -> tuple[int, int, int, int, str]:
    """Return a sort key from the least to the most stable and recent version (apimachinery pkg/version, CompareKubeAwareVersionStrings)."""
    match = _KUBE_VERSION.fullmatch(name)
    if match is None:
        # Names that are not Kubernetes versions come first, in reverse alphabetical order.
        return (0, 0, 0, 0, "".join(chr(0x10FFFF - ord(char)) for char in name))
    major, stability, minor = match.groups()
    return (1, _STABILITY[stability], int(major), int(minor or 0), "")
