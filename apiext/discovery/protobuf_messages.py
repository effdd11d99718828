"""The discovery documents in Protobuf.

Mirrors apimachinery pkg/apis/meta/v1/generated.proto and api apidiscovery/v2/generated.proto.
"""

from __future__ import annotations

from typing import Final

from apiext.meta.encoding.json_codec import Object
from apiext.registry.protobuf import kinds
from apiext.registry.protobuf.kinds import Message, Scalar
from apiext.registry.protobuf.objectmeta import METADATA, list_message

_TEXT: Final = Scalar.TEXT
_ADDRESS: Final = Message({1: ("clientCIDR", _TEXT), 2: ("serverAddress", _TEXT)})
_VERSION: Final = Message({1: ("groupVersion", _TEXT), 2: ("version", _TEXT)})
_GROUP: Final = Message(
    {1: ("name", _TEXT), 2: ("versions", _VERSION), 3: ("preferredVersion", _VERSION), 4: ("serverAddressByClientCIDRs", _ADDRESS)},
    repeated={"versions", "serverAddressByClientCIDRs"},
)


class _Verbs(Message):
    """A message with a list of verbs (meta/v1 Verbs)."""

    __slots__ = ()

    def write(self, obj: object) -> bytes:
        """Encode the list."""
        return super().write({"items": obj})


_RESOURCE: Final = Message(
    {
        1: ("name", _TEXT),
        2: ("namespaced", Scalar.BOOL),
        3: ("kind", _TEXT),
        4: ("verbs", _Verbs({1: ("items", _TEXT)}, repeated={"items"})),
        5: ("shortNames", _TEXT),
        6: ("singularName", _TEXT),
        7: ("categories", _TEXT),
        8: ("group", _TEXT),
        9: ("version", _TEXT),
        10: ("storageVersionHash", _TEXT),
    },
    repeated={"shortNames", "categories"},
)
_KIND: Final = Message({1: ("group", _TEXT), 2: ("version", _TEXT), 3: ("kind", _TEXT)})
_SUBRESOURCE_DISCOVERY: Final = Message(
    {1: ("subresource", _TEXT), 2: ("responseKind", _KIND), 3: ("acceptedTypes", _KIND), 4: ("verbs", _TEXT)},
    repeated={"acceptedTypes", "verbs"},
    optional={"responseKind"},
)
_RESOURCE_DISCOVERY: Final = Message(
    {
        1: ("resource", _TEXT),
        2: ("responseKind", _KIND),
        3: ("scope", _TEXT),
        4: ("singularResource", _TEXT),
        5: ("verbs", _TEXT),
        6: ("shortNames", _TEXT),
        7: ("categories", _TEXT),
        8: ("subresources", _SUBRESOURCE_DISCOVERY),
    },
    repeated={"verbs", "shortNames", "categories", "subresources"},
    optional={"responseKind"},
)
_VERSION_DISCOVERY: Final = Message(
    {1: ("version", _TEXT), 2: ("resources", _RESOURCE_DISCOVERY), 3: ("freshness", _TEXT)}, repeated={"resources"}
)
_GROUP_DISCOVERY: Final = Message({1: ("metadata", METADATA), 2: ("versions", _VERSION_DISCOVERY)}, repeated={"versions"})
MESSAGES: Final = {
    "APIVersions": Message(
        {1: ("versions", _TEXT), 2: ("serverAddressByClientCIDRs", _ADDRESS)}, repeated={"versions", "serverAddressByClientCIDRs"}
    ),
    "APIGroupList": Message({1: ("groups", _GROUP)}, repeated={"groups"}),
    "APIGroup": _GROUP,
    "APIResourceList": Message({1: ("groupVersion", _TEXT), 2: ("resources", _RESOURCE)}, repeated={"resources"}),
    "APIGroupDiscoveryList": list_message(_GROUP_DISCOVERY),
}
"""Messages by the kind of the document."""


def dumps(document: Object) -> bytes:
    """Encode a document."""
    kind = document["kind"]
    return kinds.dumps(document.get("apiVersion", ""), kind, MESSAGES[kind].write(document))
