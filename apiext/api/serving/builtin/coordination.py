"""coordination.k8s.io/v1: Leases."""

from __future__ import annotations

from typing import Final

from apiext.api.endpoints.responsewriters.table import NAME, TableConvertor
from apiext.api.serving.builtin.printing import AGE, at, text
from apiext.api.serving.builtin.served_kind import ServedKind
from apiext.resources.registry.builtin.lease import LEASE_KIND

_HOLDER: Final = (
    "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity "
    "must be equal to the elected LeaseCandidate.metadata.name field."
)
LEASES: Final = ServedKind(
    kind=LEASE_KIND,
    table=TableConvertor((NAME, text("Holder", _HOLDER, at("spec", "holderIdentity")), AGE)),
    creates_on_update=True,
)
