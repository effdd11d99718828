"""Labels, annotations, finalizers, categories and conditions that connect a host cluster's definitions with their mirrors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DOMAIN: Final = "apiext.dev"

SERVE_LABEL: Final = f"{DOMAIN}/serve"
"""Label of a definition on the host: apiext serves its group."""
SERVE_VALUE: Final = "true"
SERVE_SELECTOR: Final = f"{SERVE_LABEL}={SERVE_VALUE}"
"""Selector of definitions with this label."""

HAND_OVER: Final = f"{DOMAIN}/hand-over"
"""Annotation of a definition on the host: give its group back to the host."""
HAND_OVER_VALUE: Final = "true"


def wants_hand_over(annotations: Mapping[str, str]) -> bool:
    """Return whether annotations of a host's definition ask apiext to give its group back."""
    return annotations.get(HAND_OVER) == HAND_OVER_VALUE


MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGER: Final = "apiext"
"""Label and value of all objects that an operator creates on the host."""

POLICY_PREFIX: Final = "apiext-"
"""Start of the name of the ValidatingAdmissionPolicy that makes the host's own copies of a group read-only; the group follows."""

INSTANCES_FINALIZER: Final = f"{DOMAIN}/instances"
"""Finalizer of a definition on the host while apiext stores its instances."""

SERVICE: Final = f"{DOMAIN}/service"
"""Annotation of apiext's objects on the host (definitions with the finalizer, APIServices, policies, leases): its Service, as
NAMESPACE/NAME."""

ADOPTION_CATEGORY: Final = "apiext-adoption"
"""Category that makes the host end its own watches of the instances. apiext sets it on the host for a moment; mirrors lack it."""

CLEANUP_VERSION: Final = "apiext-cleanup"
"""Version of a terminating definition on the host: the operator reaches the host's own copies by it while clients do not see them."""

CONDITION: Final = "ServedByApiext"
"""Condition type of a definition on the host."""

STORED_VERSIONS_CONDITION: Final = "StoredVersionsInUse"
"""Condition type of a definition on the host: someone removed a version with objects in apiext from its stored versions."""

HOST_UID: Final = f"{DOMAIN}/host-uid"
"""Annotation of a mirror (the copy of a host's definition): uid of the host's definition."""

HOST_REVISION: Final = f"{DOMAIN}/host-revision"
"""Annotation of a mirror: resourceVersion of the host's definition at the mirror's last update."""

PHASE: Final = f"{DOMAIN}/phase"
"""Annotation of a mirror: phase of moving its group to apiext or back. Without the annotation it is IMPORTING."""
IMPORTING: Final = "Importing"
SERVING: Final = "Serving"
FROZEN: Final = "Frozen"
LEAVING: Final = "Leaving"
PHASES: Final = (IMPORTING, SERVING, FROZEN, LEAVING)

IMPORT_PATH: Final = "/apiext/import/"
"""Path prefix of imports of a mirror's objects from the host; the mirror's name follows."""

HOLD_PATH: Final = "/apiext/hold-writes"
"""Path of the webhook by which the host holds writes to its own copies of a group; anybody may ask it."""
HOLD_MESSAGE: Final = "the group is moving between this server and apiext: try again"
"""What it answers."""

REVISION_BASE: Final = 10**15
"""Lower bound of the revisions of mirrors' instances.

It is above every revision that a host's store reaches, and apiext's revisions above it are still integers that every JSON parser
reads exactly.
"""
