"""Parsed definition: immutable, parsed once per change, with the fields that the server reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta import host_annotations
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupKind, GroupResource
from apiext.base.meta.kube_version import kube_aware_key
from apiext.resources.definitions import conditions
from apiext.storage.replicas import server_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.interface import Item

_AGE_DESCRIPTION: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. "
    "It is not guaranteed to be set in happens-before order across separate operations. "
    "Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\n"
    "Populated by the system. Read-only. Null for lists. "
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)


@dataclass(frozen=True, slots=True)
class Names:
    """Names of the resource."""

    plural: str
    singular: str
    kind: str
    list_kind: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]


class PrinterColumn(NamedTuple):
    """Additional printer column. Made in a third of a dataclass's time: a definition may have thousands."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0


AGE: Final = PrinterColumn("Age", "date", ".metadata.creationTimestamp", description=_AGE_DESCRIPTION)
"""Column of versions that declare none."""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version of a definition."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str | None
    """Warning from the definition; None for the default text."""
    has_status: bool
    scale: Mapping[str, str] | None
    """The fields specReplicasPath, statusReplicasPath and optionally labelSelectorPath; None without a scale subresource."""
    printer_columns: tuple[PrinterColumn, ...]
    """Declared columns, or the Age column."""
    selectable_fields: tuple[str, ...]
    """JSON paths."""
    read_schema: Callable[[], Mapping[str, Any] | None]

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """Return the openAPIV3Schema. Parse it from the stored bytes with each call: unused definitions then take little memory."""
        return self.read_schema()


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """CustomResourceDefinition at one revision. Compared by identity."""

    name: str
    uid: str
    group: str
    namespaced: bool
    names: Names
    """The accepted names if there are any, else those of the spec."""
    versions: tuple[Version, ...]
    storage_version: Version
    """Version in which objects are stored."""
    preserve_unknown_fields: bool
    conversion_strategy: str
    revision: int
    is_established: bool
    is_reserved: bool
    """Whether instances would lie among records of servers. They are not served, wherever the definition comes from."""
    is_terminating: bool
    """Whether deletion was requested: no new instances may be created."""
    phase: str | None
    """Phase of a mirror (base/meta/host_annotations.py); None if the definition is no mirror."""
    head: Object
    """The definition in canonical form without schemas. Must not be changed."""
    item: Item
    """The stored bytes of the definition."""

    @property
    def object(self) -> Object:
        """Return the whole definition with its schemas, parsed with each call. The caller must not change it."""
        return self.item.object()

    @classmethod
    def from_item(cls, item: Item) -> Definition:
        """Create a definition from a stored item. Keep the item's bytes instead of the schemas.

        Raises:
            ValueError: the definition has no storage version.
        """
        # outside the schemas no number is long
        head = without_schemas(json_codec.loads(item.data, narrow=False))
        spec, metadata = head["spec"], head["metadata"]
        versions = tuple(_version(version, partial(_schema, item, index)) for index, version in enumerate(spec["versions"] or ()))
        storage_version = next((version for version in versions if version.storage), None)
        if storage_version is None:
            msg = "invalid CustomResourceDefinition, no storage version"
            raise ValueError(msg)
        accepted = head["status"]["acceptedNames"]
        names = _names(accepted if accepted["plural"] else spec["names"])
        is_reserved = server_keys.is_reserved(GroupResource(spec["group"], names.plural))
        return cls(
            name=metadata.get("name", ""),
            uid=metadata.get("uid", ""),
            group=spec["group"],
            namespaced=spec["scope"] == "Namespaced",
            names=names,
            versions=versions,
            storage_version=storage_version,
            preserve_unknown_fields=spec.get("preserveUnknownFields", False),
            conversion_strategy=spec["conversion"]["strategy"],
            revision=item.revision,
            is_established=conditions.is_true(head, conditions.ESTABLISHED) and not is_reserved,
            is_reserved=is_reserved,
            is_terminating=metadata.get("deletionTimestamp") is not None,
            phase=_phase(metadata.get("annotations") or {}),
            head=head,
            item=item,
        )

    @property
    def owns_objects(self) -> bool:
        """Report whether this store holds the objects, and will keep them.

        While a mirror's group moves, its objects may be in the host's store.
        """
        return self.is_established and not self.is_terminating and self.phase in (None, host_annotations.SERVING)

    @property
    def resource(self) -> GroupResource:
        """Return group and plural of the defined resource."""
        return GroupResource(self.group, self.names.plural)

    @property
    def kind(self) -> GroupKind:
        """Return group and kind of the defined resource."""
        return GroupKind(self.group, self.names.kind)

    @property
    def served_versions(self) -> tuple[Version, ...]:
        """Return the served versions in the order of the spec."""
        return tuple(version for version in self.versions if version.served)

    @property
    def names_accepted(self) -> bool:
        """Report whether the names are free of conflicts with other definitions (condition NamesAccepted)."""
        return conditions.is_true(self.head, conditions.NAMES_ACCEPTED) and not self.is_reserved

    def version(self, name: str) -> Version | None:
        """Return a version by name, served or not, or None."""
        for version in self.versions:
            if version.name == name:
                return version
        return None

    def condition(self, condition_type: str) -> Object | None:
        """Return a condition of the status, or None."""
        return conditions.find(self.head, condition_type)


def _phase(annotations: Mapping[str, str]) -> str | None:
    if host_annotations.HOST_UID not in annotations:
        return None
    phase = annotations.get(host_annotations.PHASE) or host_annotations.IMPORTING
    # A server of a later release may set unknown phases: treat them as FROZEN, which refuses writes.
    return phase if phase in host_annotations.PHASES else host_annotations.FROZEN


def _names(names: Object) -> Names:
    return Names(
        plural=names["plural"],
        singular=names.get("singular", ""),
        kind=names["kind"],
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
    )


def without_schemas(crd: Object) -> Object:
    """Return a definition in canonical form without schemas. It shares all other members."""
    versions = crd["spec"]["versions"]
    if not versions:
        return crd
    bare = [{key: item for key, item in version.items() if key != "schema"} for version in versions]
    return crd | {"spec": crd["spec"] | {"versions": bare}}


def _schema(item: Item, index: int) -> Mapping[str, Any] | None:
    validation = item.object()["spec"]["versions"][index].get("schema") or {}
    schema: Mapping[str, Any] | None = validation.get("openAPIV3Schema")
    return schema


def _version(version: Object, read_schema: Callable[[], Mapping[str, Any] | None]) -> Version:
    subresources = version.get("subresources") or {}
    columns = version.get("additionalPrinterColumns") or ()
    return Version(
        name=version["name"],
        served=version["served"],
        storage=version["storage"],
        deprecated=version.get("deprecated", False),
        deprecation_warning=version.get("deprecationWarning"),
        has_status=subresources.get("status") is not None,
        scale=subresources.get("scale"),
        printer_columns=tuple(map(_column, columns)) or (AGE,),
        selectable_fields=tuple(selectable["jsonPath"] for selectable in version.get("selectableFields") or ()),
        read_schema=read_schema,
    )


def _column(column: Object) -> PrinterColumn:
    return PrinterColumn(
        name=column["name"],
        type=column["type"],
        json_path=column["jsonPath"],
        format=column.get("format", ""),
        description=column.get("description", ""),
        priority=column.get("priority", 0),
    )


def deprecation_warning(definition: Definition, version: Version) -> str:
    """Return the warning of a deprecated version: that of the definition, else one that names a better version."""
    if version.deprecation_warning is not None:
        return version.deprecation_warning
    kind = definition.names.kind
    text = f"{definition.group}/{version.name} {kind} is deprecated"
    served = [other.name for other in definition.versions if other.served and not other.deprecated]
    better = [name for name in served if kube_aware_key(name) < kube_aware_key(version.name)]
    if better:
        text += f"; use {definition.group}/{min(better, key=kube_aware_key)} {kind}"
    return text
