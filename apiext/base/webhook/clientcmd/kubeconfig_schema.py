"""The JSON Schema of a kubeconfig (client-go tools/clientcmd/api/v1/types.go): the types of the used fields.

As in client-go, other fields are allowed, and null means no value.
"""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]


def _type(name: str, **keywords: Any) -> Schema:
    return {"type": [name, "null"], **keywords}


_STRING: Final = _type("string")
_BOOLEAN: Final = _type("boolean")


def _object(*strings: str, **others: Schema) -> Schema:
    """Return the schema of an object, given its string fields and, with `_` for `-`, its other fields."""
    return _type("object", properties=dict.fromkeys(strings, _STRING) | {name.replace("_", "-"): other for name, other in others.items()})


def _list(**fields: Schema) -> Schema:
    """Return the schema of a list of objects with a name."""
    return _type("array", items=_object("name", **fields) | {"type": "object"})


_CLUSTER: Final = _object(
    "server",
    "tls-server-name",
    "certificate-authority",
    "certificate-authority-data",
    "proxy-url",
    insecure_skip_tls_verify=_BOOLEAN,
    extensions=_list(),
)
_EXEC: Final = _object(
    "apiVersion",
    "command",
    "installHint",
    "interactiveMode",
    args=_type("array", items={"type": "string"}),
    env=_list(value=_STRING),
    provideClusterInfo=_BOOLEAN,
)
_USER: Final = _object(
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "token",
    "tokenFile",
    "username",
    "password",
    exec=_EXEC,
    auth_provider=_object("name", config=_type("object", additionalProperties=_STRING)),
)
_CONTEXT: Final = _object("cluster", "user")
KUBECONFIG: Final = _object(
    "current-context", contexts=_list(context=_CONTEXT), clusters=_list(cluster=_CLUSTER), users=_list(user=_USER)
) | {"type": "object"}
