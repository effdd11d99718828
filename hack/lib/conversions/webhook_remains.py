"""What only the webhook keeps in the annotation of carried content, since it does not see the writes in the storage version."""

from collections.abc import Sequence
from typing import Any, Final

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.rules.carried import annotation
from hack.lib.conversions.cases import Case

_OWNED: Final = "/owned"
"""Ends the keys of the fields that had managers."""


class WebhookRemains:
    """Removes it from answers of kube-apiserver, so that all else can be compared with those of apiext."""

    def __init__(self, cases: Sequence[Case]) -> None:
        """Know the rules of some cases."""
        self._cases = {case.crd["spec"]["group"]: case.rules for case in cases}

    def removed(self, found: Any) -> Any:
        """Return an object, or a list of objects, without fields that had managers, and without what a write by apiext would end."""
        if not isinstance(found, dict):
            return found
        if isinstance(found.get("items"), list):
            return found | {"items": list(map(self.removed, found["items"]))}
        group = str(found.get("apiVersion")).partition("/")[0]
        metadata = found.get("metadata")
        if group not in self._cases or not isinstance(metadata, dict) or annotation.of(metadata) is None:
            return found
        copied: dict[str, Any] = json_values.copy(found)
        rules = self._cases[group]
        text = annotation.replaced(str(annotation.take(copied)), {version + _OWNED: () for version in rules.schemas})
        if text is not None:
            annotation.put(copied, text)
            rules.settle(copied)
        return copied
