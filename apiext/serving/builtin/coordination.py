"""coordination.k8s.io/v1: Leases."""

from __future__ import annotations

from typing import Final

from apiext.endpoints.responsewriters.table import NAME, TableConvertor
from apiext.registry.builtin.lease import LEASE_KIND
from apiext.serving.builtin.printing import AGE, at, text
from apiext.serving.builtin.served_kind import ServedKind

_HOLDER: Final = (
    "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity "
    "must be equal to the elected LeaseCandidate.metadata.name field."
)
LEASES: Final = ServedKind(
    kind=LEASE_KIND,
    table=TableConvertor((NAME, text("Holder", _HOLDER, at("spec", "holderIdentity")), AGE)),
    creates_on_update=True,
)
