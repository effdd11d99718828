"""The marks by which a host cluster, its definitions and the copies here know of each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DOMAIN: Final = "apiext.dev"

SERVE_LABEL: Final = f"{DOMAIN}/serve"
"""Label of a definition on the host: serve its group here."""
SERVE_VALUE: Final = "true"
SERVE_SELECTOR: Final = f"{SERVE_LABEL}={SERVE_VALUE}"
"""Selects definitions with it."""

HAND_OVER: Final = f"{DOMAIN}/hand-over"
"""Annotation of a definition on the host: give its group back."""
HAND_OVER_VALUE: Final = "true"


def is_asked_back(annotations: Mapping[str, str]) -> bool:
    """Whether a definition of the host, by its annotations, asks to give its group back."""
    return annotations.get(HAND_OVER) == HAND_OVER_VALUE


INSTANCES_FINALIZER: Final = f"{DOMAIN}/instances"
"""Finalizer of a definition on the host, while its instances are kept here."""

SERVICE: Final = f"{DOMAIN}/service"
"""Annotation of what an apiext has on the host (definitions with the finalizer, APIServices, policies): its Service, as NAMESPACE/NAME."""

CONDITION: Final = "ServedByApiext"
"""Condition type of a definition on the host."""

HOST_UID: Final = f"{DOMAIN}/host-uid"
"""Annotation of a mirror, the copy of a host's definition: the uid that it has there."""

HOST_REVISION: Final = f"{DOMAIN}/host-revision"
"""Annotation of a mirror: the resourceVersion that the host's definition had when the mirror was last made to follow it."""

PHASE: Final = f"{DOMAIN}/phase"
"""Annotation of a mirror: how far its group is on the way here or back. Without one it is IMPORTING."""
IMPORTING: Final = "Importing"
SERVING: Final = "Serving"
FROZEN: Final = "Frozen"
LEAVING: Final = "Leaving"
PHASES: Final = (IMPORTING, SERVING, FROZEN, LEAVING)

IMPORT_PATH: Final = "/apiext/import/"
"""Where objects of a mirror are put that the host has; the mirror's name follows."""

REVISION_BASE: Final = 10**15
"""What the revisions of mirrors' instances are greater than: more than a host's store gets to, and with apiext's own revisions still a
number that every JSON parser reads exactly."""
