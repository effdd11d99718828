"""A chain of admission plug-ins (apiserver pkg/admission/chain.go)."""

from __future__ import annotations

from collections.abc import Sequence

from apiext.admission.attributes import Admission, Attributes
from apiext.meta.request import AdmissionOperation


class Chain(Admission):
    """Calls the plug-ins in order until one rejects the write."""

    def __init__(self, plugins: Sequence[Admission]) -> None:
        self._plugins = {operation: [plugin for plugin in plugins if plugin.handles(operation)] for operation in AdmissionOperation}

    def handles(self, operation: AdmissionOperation) -> bool:
        """Return whether any plug-in applies to an operation."""
        return bool(self._plugins[operation])

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object of a write.

        All plug-ins run a second time if one of them asks for it (apiserver pkg/admission/reinvocation.go).

        Raises:
            StatusError: a plug-in rejects the write; the first one decides.
        """
        plugins = self._plugins[attributes.operation]
        for plugin in plugins:
            await plugin.admit(attributes)
        if attributes.reinvocation.is_required:
            attributes.reinvocation.runs_again = True
            for plugin in plugins:
                await plugin.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Validate a write.

        Raises:
            StatusError: a plug-in rejects the write; the first one decides.
        """
        for plugin in self._plugins[attributes.operation]:
            await plugin.validate(attributes)
