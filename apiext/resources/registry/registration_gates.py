"""Feature gates that the strategies of webhook configurations, policies and bindings follow."""

from __future__ import annotations

from typing import NamedTuple


class RegistrationGates(NamedTuple):
    """Gates that are enabled by default."""

    reserves_names: bool = True
    """ManifestBasedAdmissionControlConfig: some names are reserved for configurations in files; without it, they get a warning."""
    excludes_reviews: bool = True
    """ExcludeAdmissionWebhookVirtualResources: rules for reviews of access get a warning, since no webhook sees these."""


DEFAULT_GATES = RegistrationGates()
