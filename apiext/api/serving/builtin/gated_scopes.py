"""Scopes of webhook configurations, policies and bindings under feature gates other than the default ones."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.resources.registry.admissionregistration.strategies import RegistrationStrategy
    from apiext.resources.registry.registration_gates import RegistrationGates
    from apiext.resources.registry.rest import ResourceRest


def gated_scopes(scopes: Mapping[str, Scope], gates: RegistrationGates) -> Mapping[str, Scope]:
    """Return the scopes with strategies that follow the gates."""
    return {name: dataclasses.replace(scope, rest=_gated(cast("ResourceRest", scope.rest), gates)) for name, scope in scopes.items()}


def _gated(rest: ResourceRest, gates: RegistrationGates) -> ResourceRest:
    return dataclasses.replace(rest, strategy=cast("RegistrationStrategy", rest.strategy).gated(gates))
