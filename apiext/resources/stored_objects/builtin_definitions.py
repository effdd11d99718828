"""Definitions of the built-in kinds, for repairs: an unreadable stored definition prevents the start of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.resources.definitions.codec import CRDCodec
from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.resources.registry.admissionregistration import kinds as admissionregistration
from apiext.resources.registry.builtin.core import CONFIG_MAP_KIND, SECRET_KIND, SERVICE_ACCOUNT_KIND
from apiext.resources.registry.builtin.events import EVENT_KIND
from apiext.resources.registry.builtin.lease import LEASE_KIND
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND
from apiext.resources.registry.builtin.rbac import CLUSTER_ROLE_BINDING_KIND, CLUSTER_ROLE_KIND, ROLE_BINDING_KIND, ROLE_KIND
from apiext.resources.registry.builtin.storageversion import STORAGE_VERSION_MIGRATION_KIND

if TYPE_CHECKING:
    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.gvk import GroupResource
    from apiext.resources.definitions.definition import Definition
    from apiext.storage.interface import Codec

_KINDS: Final = (
    STORAGE_VERSION_MIGRATION_KIND,
    NAMESPACE_KIND,
    EVENT_KIND,
    SERVICE_ACCOUNT_KIND,
    CONFIG_MAP_KIND,
    SECRET_KIND,
    LEASE_KIND,
    ROLE_KIND,
    CLUSTER_ROLE_KIND,
    ROLE_BINDING_KIND,
    CLUSTER_ROLE_BINDING_KIND,
    admissionregistration.VALIDATING_WEBHOOKS_KIND,
    admissionregistration.MUTATING_WEBHOOKS_KIND,
    admissionregistration.VALIDATING_POLICY_KIND,
    admissionregistration.VALIDATING_BINDING_KIND,
    admissionregistration.MUTATING_POLICY_KIND,
    admissionregistration.MUTATING_BINDING_KIND,
)
_RESOURCES: Final = (CUSTOM_RESOURCE_DEFINITIONS, *(kind.resource for kind in _KINDS))


def builtin_codecs() -> dict[GroupResource, Codec]:
    """Return the codecs of the built-in kinds by resource."""
    codecs: dict[GroupResource, Codec] = {CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource: CRDCodec()}
    return codecs | {kind.resource.resource.group_resource: kind.codec() for kind in _KINDS}


def stored_resource(definition: Definition) -> GroupResource:
    """Return the resource under which the objects of a definition are stored."""
    if not is_builtin(definition):
        return definition.resource
    return next(one.stored_resource for one in _RESOURCES if one.resource.group_resource == definition.resource)


def builtin_kinds() -> list[Definition]:
    """Return a definition for each built-in kind, with names and versions only: the schemas are built in."""
    return list(map(_definition, _RESOURCES))


def is_builtin(definition: Definition) -> bool:
    """Report whether a definition is one of `builtin_kinds`."""
    return definition.uid == _UID


_UID: Final = "built-in"


def _definition(resource: BuiltinResource) -> Definition:
    kind, stored = resource.kind, (resource.hashed_kind or resource.kind).version
    names = {"plural": resource.plural, "singular": resource.singular, "kind": kind.kind, "listKind": f"{kind.kind}List"}
    name = f"{resource.plural}.{kind.group}" if kind.group else resource.plural
    return parse_definition(
        {
            "metadata": {"name": name, "uid": _UID},
            "spec": {
                "group": kind.group,
                "names": names,
                "scope": "Namespaced" if resource.namespaced else "Cluster",
                "versions": [
                    {"name": version, "served": version == kind.version, "storage": version == stored}
                    for version in dict.fromkeys((kind.version, stored))
                ],
            },
            "status": {"acceptedNames": names, "storedVersions": [stored]},
        }
    )
