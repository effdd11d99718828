"""coordination.k8s.io/v1 Leases for standalone use (kubernetes pkg/registry/coordination/lease, pkg/apis/coordination/validation).

Without the feature gate CoordinatedLeaderElection, which is off by default, the reference drops a lease's strategy and preferred
holder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta import field, names
from apiext.base.meta.builtin_resources import LEASES
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.objectmeta import validation
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import RequestContext

_DURATION: Final = field.Path("spec", "leaseDurationSeconds")
_TRANSITIONS: Final = field.Path("spec", "leaseTransitions")
_GATED: Final = ("strategy", "preferredHolder")


class LeaseStrategy(Strategy):
    """Updates need the resourceVersion."""

    distinct_errors = True

    def prepare_for_create(self, ctx: RequestContext, obj: Object) -> None:
        """Drop the fields of the feature gate."""
        obj["spec"] = {name: value for name, value in obj["spec"].items() if name not in _GATED}

    def validate(self, ctx: RequestContext, obj: Object) -> list[FieldError]:
        """Validate metadata and spec."""
        problems = validation.validate(obj["metadata"], namespaced=True, name_rule=names.name_is_dns_subdomain)
        return problems + _spec_errors(obj["spec"])

    def prepare_for_update(self, ctx: RequestContext, obj: Object, old: Object) -> None:
        """Drop the fields of the feature gate that the old object, written with the gate, does not have."""
        dropped = [name for name in _GATED if name not in old["spec"]]
        obj["spec"] = {name: value for name, value in obj["spec"].items() if name not in dropped}

    def validate_update(self, ctx: RequestContext, obj: Object, old: Object, metadata_errors: Sequence[FieldError]) -> list[FieldError]:
        """Validate the spec."""
        return [*metadata_errors, *_spec_errors(obj["spec"])]


def _spec_errors(spec: Object) -> list[FieldError]:
    problems = []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        problems.append(field.invalid(_DURATION, duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        problems.append(field.invalid(_TRANSITIONS, transitions, "must be greater than or equal to 0"))
    return problems


LEASE_KIND: Final = BuiltinKind(resource=LEASES, struct=struct_of(LEASES.kind), strategy=LeaseStrategy())
