"""The warning that requests in a deprecated version get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.kube_version import kube_aware_key

if TYPE_CHECKING:
    from apiext.resources.definitions.definition import Definition, Version


def deprecation_warning(definition: Definition, version: Version) -> str:
    """Return the warning of a deprecated version: that of the definition, else one that names a better version."""
    if version.deprecation_warning is not None:
        return version.deprecation_warning
    kind = definition.names.kind
    text = f"{definition.group}/{version.name} {kind} is deprecated"
    served = [other.name for other in definition.versions if other.served and not other.deprecated]
    better = [name for name in served if kube_aware_key(name) < kube_aware_key(version.name)]
    if better:
        text += f"; use {definition.group}/{min(better, key=kube_aware_key)} {kind}"
    return text
