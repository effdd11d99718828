"""Strategy of Leases."""

from typing import Any

from apiext.resources.registry.builtin.lease import LEASE_KIND
from apiext.resources.registry.request_context import RequestContext

CONTEXT = RequestContext()


def _lease(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "l", "namespace": "n"}, "spec": spec}


def test_drops_the_fields_of_the_gate() -> None:
    """Drop strategy and preferredHolder, unless the old object has them."""
    lease, old = _lease(strategy="s", preferredHolder="p", holderIdentity="h"), _lease(strategy="t")
    updated = _lease(**lease["spec"])
    LEASE_KIND.strategy.prepare_for_create(CONTEXT, lease)
    LEASE_KIND.strategy.prepare_for_update(CONTEXT, updated, old)

    assert lease["spec"] == {"holderIdentity": "h"}
    assert updated["spec"] == {"strategy": "s", "holderIdentity": "h"}


def test_validates_numbers() -> None:
    """Require a positive duration and no negative number of transitions."""
    errors = LEASE_KIND.strategy.validate(CONTEXT, _lease(leaseDurationSeconds=0, leaseTransitions=-1))

    assert [error.field for error in errors] == ["spec.leaseDurationSeconds", "spec.leaseTransitions"]
    assert LEASE_KIND.strategy.validate_update(CONTEXT, _lease(leaseTransitions=0), _lease(), []) == []
