"""Whether a host authorizes requests with conditions on their objects (KEP-5681, Kubernetes 1.38), which its admission then checks.

A request that it proxies is not admitted there: the server behind it must ask for the conditions, so FrontProxy must not authorize it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

GATE: Final = "ConditionalAuthorization"
DISCOVERY: Final = "/apis/authorization.k8s.io/v1alpha1"
"""Path of the API version with the reviews of conditions, which a host may serve or not."""
METRICS: Final = "/metrics"
HEALTH_CHECK: Final = "conditional-authorization"
"""Name of the readiness check of a server in mode FrontProxy; its remark is the reason why the mode is suspended."""
SERVES_REVIEWS: Final = f"the host serves authorizationconditionsreviews ({DISCOVERY})"
HAS_GATE: Final = f"the host has the feature gate {GATE}"
_RESOURCE: Final = "authorizationconditionsreviews"
_SAMPLE: Final = re.compile(rb'kubernetes_feature_enabled\{[^}]*\bname="%b"[^}]*\} (\S+)' % GATE.encode())


def serves_reviews(resources: Mapping[str, Any]) -> bool:
    """Return whether an APIResourceList of DISCOVERY has the reviews of conditions."""
    return any(isinstance(one, dict) and one.get("name") == _RESOURCE for one in resources.get("resources") or ())


def gate_of(line: bytes) -> bool | None:
    """Return whether a line of the host's metrics says that the gate is on, None for any other line."""
    found = _SAMPLE.match(line)
    return found[1] != b"0" if found else None
