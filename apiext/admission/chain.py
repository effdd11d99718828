"""A chain of admission plug-ins (apiserver pkg/admission/chain.go)."""

from __future__ import annotations

from collections.abc import Sequence

from apiext.admission.attributes import Admission, Attributes


class Chain:
    """Calls the plug-ins in order until one rejects the write."""

    __slots__ = ("_by_operation", "_plugins")

    def __init__(self, plugins: Sequence[Admission] = ()) -> None:
        self._plugins = tuple(plugins)
        self._by_operation: dict[str, tuple[Admission, ...]] = {}

    def _for(self, operation: str) -> tuple[Admission, ...]:
        plugins = self._by_operation.get(operation)
        if plugins is None:
            plugins = tuple(plugin for plugin in self._plugins if plugin.handles(operation))
            self._by_operation[operation] = plugins
        return plugins

    def handles(self, operation: str) -> bool:
        """Return whether any plug-in applies to an operation."""
        return bool(self._for(operation))

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object of a write.

        Raises:
            StatusError: a plug-in rejects the write; the first one decides.
        """
        for plugin in self._for(attributes.operation):
            await plugin.admit(attributes)

    async def validate(self, attributes: Attributes) -> None:
        """Validate a write.

        Raises:
            StatusError: a plug-in rejects the write; the first one decides.
        """
        for plugin in self._for(attributes.operation):
            await plugin.validate(attributes)
