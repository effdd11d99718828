"""core/v1: namespaces, ServiceAccounts, ConfigMaps and Secrets."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS
from apiext.api.endpoints.parameters.options import known_field_labels
from apiext.api.endpoints.responsewriters.table import NAME, TableConvertor
from apiext.api.endpoints.serializers.negotiation import TABLELESS_OFFERS
from apiext.api.serving.builtin.printing import AGE, at, text
from apiext.api.serving.builtin.served_kind import WITH_CONDITIONS, ServedKind, ServedSubresource
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.registry.builtin.configmap import CONFIG_MAP_KIND
from apiext.resources.registry.builtin.namespace import NAMESPACE_KIND, NamespaceFinalizeStrategy, NamespaceStatusStrategy
from apiext.resources.registry.builtin.secret import SECRET_KIND
from apiext.resources.registry.builtin.serviceaccount import SERVICE_ACCOUNT_KIND

# --- namespaces -----------------------------------------------------------------------------------------------------

_NAMESPACE_COLUMNS: Final = (
    NAME,
    text("Status", "The status of the namespace", at("status", "phase")),
    AGE,
)

NAMESPACES: Final = ServedKind(
    kind=NAMESPACE_KIND,
    table=TableConvertor(_NAMESPACE_COLUMNS),
    field_label=known_field_labels(frozenset({"metadata.name", "status.phase", "name"})),
    strategic_keys=WITH_CONDITIONS,
    pins_deleted=True,
    returns_deleted=True,
    subresources={
        "status": ServedSubresource(strategy=NamespaceStatusStrategy(), reset=("spec",)),
        "finalize": ServedSubresource(strategy=NamespaceFinalizeStrategy(), reset=("status",), offers=TABLELESS_OFFERS),
    },
)


# --- service accounts -----------------------------------------------------------------------------------------------


SERVICE_ACCOUNTS: Final = ServedKind(
    kind=SERVICE_ACCOUNT_KIND,
    table=TableConvertor((NAME, AGE)),
    strategic_keys={**OBJECT_META_KEYS, ".secrets": "name"},
    returns_deleted=True,
)


# --- config maps and secrets ----------------------------------------------------------------------------------------


_CONFIG_MAP_DATA: Final = (
    "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. Values with non-UTF-8 "
    "byte sequences must use the BinaryData field. The keys stored in Data must not overlap with the keys in the BinaryData field, "
    "this is enforced during validation process."
)
_ENTRIES: Final = (
    "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The serialized form of the "
    "secret data is a base64 encoded string, representing the arbitrary (possibly non-string) data value here. Described in "
    "https://tools.ietf.org/html/rfc4648#section-4"
)
_PURPOSE: Final = (
    "Used to facilitate programmatic handling of secret data. More info: "
    "https://kubernetes.io/docs/concepts/configuration/secret/#secret-types"
)


def _entries(obj: Object, _now: datetime) -> int:
    return len(obj.get("data", {})) + len(obj.get("binaryData", {}))


CONFIG_MAPS: Final = ServedKind(kind=CONFIG_MAP_KIND, table=TableConvertor((NAME, text("Data", _CONFIG_MAP_DATA, _entries), AGE)))
SECRETS: Final = ServedKind(
    kind=SECRET_KIND,
    table=TableConvertor((NAME, text("Type", _PURPOSE, at("type")), text("Data", _ENTRIES, _entries), AGE)),
    field_label=known_field_labels(frozenset({"metadata.name", "metadata.namespace", "type"})),
)
