"""core/v1 ConfigMaps, Secrets and ServiceAccounts for standalone use (kubernetes pkg/registry/core/{configmap,secret,serviceaccount}).

kube-controller-manager creates the ServiceAccount `default` of a namespace, not the API server. Rules of the entries of ConfigMaps and
Secrets: kubernetes pkg/apis/core/validation.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_syntax import syntax_error
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.golang.type_model import describe
from apiext.base.meta.golang.value_types import length
from apiext.resources.registry.builtin.kind import BuiltinKind, metadata_fields
from apiext.resources.registry.builtin.shared_rules import core_metadata_errors
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.registry.request_context import RequestContext

MAX_BYTES: Final = 1024 * 1024
"""Bytes of all values of a ConfigMap or Secret."""
_LOCKED: Final = "field is immutable when `immutable` is set"
_DATA: Final = field.Path("data")


class _CoreStrategy(Strategy):
    """Updates need no resourceVersion."""

    allow_unconditional_update = True
    distinct_errors = True


# --- entries --------------------------------------------------------------------------------------------------------


def _key_errors(key: str, path: Path) -> list[FieldError]:
    """Return the errors of a key; `path` is that of its map."""
    return [field.invalid(path.key(key), key, message) for message in names.config_map_key(key)]


def _immutable_errors(obj: Object, old: Object, members: Iterable[str]) -> list[FieldError]:
    """Return the errors about changes of an immutable object: it stays immutable, and so do the maps `members`."""
    if not old.get("immutable"):
        return []
    problems = [] if obj.get("immutable") else [field.forbidden(field.Path("immutable"), _LOCKED)]
    return problems + [field.forbidden(field.Path(name), _LOCKED) for name in members if obj.get(name) != old.get(name)]


def _fill_empty(obj: Object, member: str) -> None:
    """Replace the nulls of a map of bytes by empty bytes."""
    if member in obj:
        obj[member] = {key: value or "" for key, value in obj[member].items()}


# --- ConfigMaps -----------------------------------------------------------------------------------------------------

_BINARY: Final = field.Path("binaryData")
_WHOLE: Final = field.Path("")


class ConfigMapStrategy(_CoreStrategy):
    """Entries of an immutable ConfigMap never change."""

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata, the keys, and the size of all entries."""
        problems = core_metadata_errors(obj["metadata"], namespaced=True, name_rule=names.name_is_dns_subdomain)
        data, binary = obj.get("data", {}), obj.get("binaryData", {})
        for key in data:
            problems += _key_errors(key, _DATA)
            if key in binary:
                problems.append(field.invalid(_DATA.key(key), key, "duplicate of key present in binaryData"))
        for key in binary:
            problems += _key_errors(key, _BINARY)
        if sum(map(names.size, data.values())) + sum(map(length, binary.values())) > MAX_BYTES:
            problems.append(field.too_long(_WHOLE, MAX_BYTES))
        return problems

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the object as a new one; the entries of an immutable one must be the old ones."""
        return [*metadata_errors, *_immutable_errors(obj, old, ("data", "binaryData")), *self.validate(ctx, obj)]

    def canonicalize(self, obj: Object) -> None:
        """Turn missing bytes into empty ones, as Protobuf does."""
        _fill_empty(obj, "binaryData")


CONFIG_MAP_KIND: Final = BuiltinKind(resource=CONFIG_MAPS, struct=struct_of(CONFIG_MAPS.kind), strategy=ConfigMapStrategy())


# --- Secrets --------------------------------------------------------------------------------------------------------

_OPAQUE: Final = "Opaque"
_TOKEN: Final = "kubernetes.io/service-account-token"  # noqa: S105 -- the type of a secret
_TLS: Final = "kubernetes.io/tls"
_BASIC: Final = "kubernetes.io/basic-auth"
_SSH: Final = "kubernetes.io/ssh-auth"
_DOCKER: Final = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
"""Keys of JSON documents, by type."""
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_SECRET: Final = struct_of(SECRETS.kind)


class SecretStrategy(_CoreStrategy):
    """The type never changes; some types need certain keys."""

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata, the keys, the size of all entries, and what the type needs."""
        problems = core_metadata_errors(obj["metadata"], namespaced=True, name_rule=names.name_is_dns_subdomain)
        data = obj.get("data", {})
        problems += [error for key in data for error in _key_errors(key, _DATA)]
        if sum(map(length, data.values())) > MAX_BYTES:
            problems.append(field.too_long(_DATA, MAX_BYTES))
        return problems + _type_errors(obj["type"], data, obj["metadata"])

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Warn about a certificate that does not match its key."""
        if obj["type"] != _TLS:
            return []
        # Imported with the first certificate: the module takes long to import.
        from apiext.base.cert.key_pair import key_pair_error

        data = obj.get("data", {})
        error = key_pair_error(*(base64.b64decode(data[name] or "") for name in ("tls.crt", "tls.key")))
        return [error] if error else []

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the object as a new one; the type, and the entries of an immutable object, must be the old ones."""
        problems = list(metadata_errors)
        if obj["type"] != old["type"]:
            problems.append(field.invalid(field.Path("type"), field.typed_text(obj["type"]), "field is immutable"))
        return [*problems, *_immutable_errors(obj, old, ("data",)), *self.validate(ctx, obj)]

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Warn about a certificate that does not match its key."""
        return self.warnings_on_create(ctx, obj)

    def canonicalize(self, obj: Object) -> None:
        """Turn missing bytes into empty ones, as Protobuf does."""
        _fill_empty(obj, "data")


def _type_errors(secret_type: str, data: Object, metadata: Object) -> list[FieldError]:
    if secret_type == _TOKEN and not metadata.get("annotations", {}).get(_ACCOUNT):
        return [field.required(field.Path("metadata", "annotations").key(_ACCOUNT))]
    if secret_type in _DOCKER:
        return _document_errors(_DOCKER[secret_type], data)
    needed: tuple[str, ...] = ()
    if secret_type == _BASIC and not data.keys() & {"username", "password"}:
        needed = ("username", "password")
    elif secret_type == _SSH and not data.get("ssh-privatekey"):
        needed = ("ssh-privatekey",)
    elif secret_type == _TLS:
        needed = tuple(key for key in ("tls.crt", "tls.key") if key not in data)
    return [field.required(_DATA.key(key)) for key in needed]


def _document_errors(key: str, data: Object) -> list[FieldError]:
    path = _DATA.key(key)
    if key not in data:
        return [field.required(path)]
    text = base64.b64decode(data[key] or "")
    fault = syntax_error(text)
    if not fault:
        document = json_codec.loads(text)
        if document is not None and not isinstance(document, dict):
            fault = f"json: cannot unmarshal {describe(document)} into Go value of type map[string]interface {{}}"
    return [field.invalid(path, "<secret contents redacted>", fault)] if fault else []


def _fields(obj: Object) -> dict[str, str]:
    return {**metadata_fields(obj), "type": obj["type"]}


def _default(obj: Object) -> None:
    """Set the default type, and move the plain texts to the other entries."""
    texts = obj.pop("stringData", None)
    if texts:
        data = obj.get("data", {}) | {key: base64.b64encode(text.encode(errors="replace")).decode() for key, text in texts.items()}
        obj["data"] = dict(sorted(data.items()))
    obj["type"] = obj.get("type") or _OPAQUE
    ordered = _SECRET.order(obj)
    obj.clear()
    obj.update(ordered)


SECRET_KIND: Final = BuiltinKind(resource=SECRETS, struct=_SECRET, strategy=SecretStrategy(), selectable=_fields, default=_default)


# --- ServiceAccounts ------------------------------------------------------------------------------------------------

_ENFORCE: Final = "kubernetes.io/enforce-mountable-secrets"
_DEPRECATED: Final = (
    f"metadata.annotations[{_ENFORCE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
)


class ServiceAccountStrategy(_CoreStrategy):
    """References to secrets keep nothing but their names."""

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Reduce the references to secrets to names."""
        if "secrets" in obj:
            obj["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in obj["secrets"]]

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata."""
        return core_metadata_errors(obj["metadata"], namespaced=True, name_rule=names.name_is_dns_subdomain)

    def warnings_on_create(self, ctx: RequestContext, obj: Object) -> list[str]:
        """Warn about the deprecated annotation."""
        return [_DEPRECATED] if _ENFORCE in obj["metadata"].get("annotations", {}) else []

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Reduce the references to secrets to names."""
        self.prepare_for_create(ctx, obj)

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate metadata."""
        return [*metadata_errors, *self.validate(ctx, obj)]

    def warnings_on_update(self, ctx: RequestContext, obj: Object, old: Object) -> list[str]:
        """Warn about the deprecated annotation if it is new."""
        return [] if _ENFORCE in old["metadata"].get("annotations", {}) else self.warnings_on_create(ctx, obj)


SERVICE_ACCOUNT_KIND: Final = BuiltinKind(
    resource=SERVICE_ACCOUNTS, struct=struct_of(SERVICE_ACCOUNTS.kind), strategy=ServiceAccountStrategy()
)
