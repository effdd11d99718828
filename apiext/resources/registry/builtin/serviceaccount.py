"""core/v1 ServiceAccounts for standalone use (kubernetes pkg/registry/core/serviceaccount).

kube-controller-manager creates the ServiceAccount `default` of a namespace, not the API server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import names
from apiext.base.meta.builtin_resources import SERVICE_ACCOUNTS
from apiext.base.meta.golang.struct_table import struct
from apiext.base.meta.objectmeta.canonical import OBJECT_META
from apiext.resources.registry.builtin.core_metadata import core_metadata_errors
from apiext.resources.registry.builtin.core_types import OBJECT_REFERENCE
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext

_ENFORCE: Final = "kubernetes.io/enforce-mountable-secrets"
_DEPRECATED: Final = (
    f"metadata.annotations[{_ENFORCE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
)

SERVICE_ACCOUNT: Final = struct(
    "ServiceAccount",
    "TypeMeta, 1 metadata! ObjectMeta, 2 secrets []ObjectReference, 3 imagePullSecrets []LocalObjectReference,"
    "4 automountServiceAccountToken *bool",
    OBJECT_META,
    OBJECT_REFERENCE,
    struct("LocalObjectReference", "1 name"),
)


class ServiceAccountStrategy(Strategy):
    """References to secrets keep nothing but their names."""

    allow_unconditional_update = True
    distinct_errors = True

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


SERVICE_ACCOUNT_KIND: Final = BuiltinKind(resource=SERVICE_ACCOUNTS, struct=SERVICE_ACCOUNT, strategy=ServiceAccountStrategy())
