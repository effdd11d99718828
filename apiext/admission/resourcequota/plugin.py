"""The plug-in (apiserver pkg/admission/plugin/resourcequota/admission.go)."""

from __future__ import annotations

from typing import Final

from apiext.admission.attributes import CREATE, Attributes, Plugin
from apiext.admission.resourcequota.evaluator import Evaluator


class ResourceQuota(Plugin):
    """Refuses creates (403) that a quota of the namespace does not allow, and charges the others."""

    NAME: Final = "ResourceQuota"
    operations = frozenset({CREATE})

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    async def validate(self, attributes: Attributes) -> None:
        """Raises StatusError as the class says."""
        if attributes.namespace and not attributes.subresource:
            await self._evaluator.evaluate(attributes)
