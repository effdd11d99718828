"""The transformers in use, which a reload replaces (DynamicTransformers of apiserver pkg/server/options/encryptionconfig/config.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.storage.value.configuration import KMSProvider
from apiext.storage.value.providers import Providers
from apiext.storage.value.transformation_stats import TransformationStats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.gvk import GroupResource
    from apiext.storage.value.configuration import EncryptionConfiguration
    from apiext.storage.value.kms.plugins import Plugins
    from apiext.storage.value.transformer import Transformer


class Encryption:
    """The transformers of all resources.

    `generation` grows with each change after which other values may be readable or stale: a reload, or a change of a KMS plugin.
    """

    def __init__(self, configuration: EncryptionConfiguration, plugins: Plugins | None = None) -> None:
        """Use a configuration and the plugins of its KMS providers.

        Raises:
            ConfigurationError: a library is not installed.
        """
        self.stats = TransformationStats()
        self._reloads = 1
        self._providers = Providers(configuration, self.stats, plugins.transformers if plugins is not None else None)
        self.configuration = configuration
        self.plugins = plugins
        """The plugins in use; None without KMS providers."""

    @property
    def generation(self) -> int:
        """Return a number that grows with each change of the keys."""
        return self._reloads + (self.plugins.changes if self.plugins is not None else 0)

    def transformer(self, resource: GroupResource) -> Transformer | None:
        """Return a new transformer of a resource for the present generation, None if the configuration does not name it."""
        return self._providers.transformer(resource)

    def names(self, resource: GroupResource) -> bool:
        """Report whether the configuration has providers for a resource."""
        return self._providers.transformer(resource) is not None

    def replace(self, configuration: EncryptionConfiguration, plugins: Plugins | None = None) -> Plugins | None:
        """Use another configuration from now on, and return the previous plugins.

        Raises:
            ConfigurationError: a library is not installed; the previous configuration stays in use.
        """
        providers = Providers(configuration, self.stats, plugins.transformers if plugins is not None else None)
        # the sum must grow
        self._reloads = self.generation + 1
        previous, self.plugins = self.plugins, plugins
        self._providers, self.configuration = providers, configuration
        return previous

    async def problems(self) -> Sequence[str]:
        """Return the problems of KMS plugins, each with its name; a check of each plugin is repeated after some seconds."""
        return await self.plugins.problems() if self.plugins is not None else ()

    async def close(self) -> None:
        """Close the connections to plugins."""
        if self.plugins is not None:
            await self.plugins.close()


def kms_providers(configuration: EncryptionConfiguration) -> list[KMSProvider]:
    """Return the KMS providers of a configuration in order."""
    return [provider for group in configuration.resources for provider in group.providers if isinstance(provider, KMSProvider)]
