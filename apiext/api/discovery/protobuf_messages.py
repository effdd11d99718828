"""The discovery documents in Protobuf.

Mirrors apimachinery pkg/apis/meta/v1/generated.proto and api apidiscovery/v2/generated.proto.
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.golang.type_model import GoType, Slice, String
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import Items, Message, Scalar, message_of
from apiext.resources.registry.protobuf.objectmeta import list_message

_VERBS: Final = Slice(String(), "Verbs")
_ADDRESS: Final = struct("ServerAddressByClientCIDR", "1 clientCIDR, 2 serverAddress")
_GROUP: Final = struct(
    "APIGroup",
    "1 name, 2 versions []Version, 3 preferredVersion Version, 4 serverAddressByClientCIDRs []ServerAddressByClientCIDR",
    struct("Version", "1 groupVersion, 2 version"),
    _ADDRESS,
)
_RESOURCE: Final = struct(
    "APIResource",
    "1 name, 2 namespaced bool, 3 kind, 4 verbs Verbs, 5 shortNames []string, 6 singularName, 7 categories []string, 8 group, 9 version,"
    "10 storageVersionHash",
    _VERBS,
)
_KIND: Final = struct("GroupVersionKind", "1 group, 2 version, 3 kind")
_RESOURCE_DISCOVERY: Final = struct(
    "APIResourceDiscovery",
    "1 resource, 2 responseKind *GroupVersionKind, 3 scope, 4 singularResource, 5 verbs []string, 6 shortNames []string,"
    "7 categories []string, 8 subresources []APISubresourceDiscovery",
    _KIND,
    struct(
        "APISubresourceDiscovery",
        "1 subresource, 2 responseKind *GroupVersionKind, 3 acceptedTypes []GroupVersionKind, 4 verbs []string",
        _KIND,
    ),
)
_GROUP_DISCOVERY: Final = struct(
    "APIGroupDiscovery",
    "1 metadata ObjectMeta, 2 versions []APIVersionDiscovery",
    OBJECT_META,
    struct("APIVersionDiscovery", "1 version, 2 resources []APIResourceDiscovery, 3 freshness", _RESOURCE_DISCOVERY),
)
_STRUCTS: Final = (
    struct("APIVersions", "1 versions []string, 2 serverAddressByClientCIDRs []ServerAddressByClientCIDR", _ADDRESS),
    struct("APIGroupList", "1 groups []APIGroup", _GROUP),
    _GROUP,
    struct("APIResourceList", "1 groupVersion, 2 resources []APIResource", _RESOURCE),
)
_CONTENTS: Final[dict[GoType, Scalar | Message]] = {_VERBS: Items(Scalar.TEXT)}
MESSAGES: Final = {
    **{each.struct: message_of(each, _CONTENTS) for each in _STRUCTS},
    "APIGroupDiscoveryList": list_message(message_of(_GROUP_DISCOVERY)),
}
"""Messages by the kind of the document."""


def dumps(document: Object) -> bytes:
    """Encode a document."""
    kind = document["kind"]
    return kinds.dumps(document.get("apiVersion", ""), kind, MESSAGES[kind].write(document))
