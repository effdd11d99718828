"""The transformers in use, which a reload replaces (DynamicTransformers of apiserver pkg/server/options/encryptionconfig/config.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.configuration import ConfigurationError
from apiext.base.meta.gvk import GroupResource
from apiext.storage.stored_object import ENCRYPTED_PREFIX, NOT_DECRYPTED
from apiext.storage.value.configuration import IdentityProvider, KeyedProvider, KMSProvider
from apiext.storage.value.transformer import PrefixTransformer, PrefixTransformers, TransformationStats, Transformer, TransformError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.storage.value.configuration import EncryptionConfiguration, Provider
    from apiext.storage.value.kms.plugins import Plugins


_ANY: Final = GroupResource("*", "*")
_ERRORS: Final = {
    "aesgcm": "no matching key was found for the provided AES transformer",
    "aescbc": "no matching key was found for the provided AES transformer",
    "secretbox": "no matching key was found for the provided Secretbox transformer",
}

Leaves = dict[int, list[tuple[str, Transformer]]]
"""Names and transformers of the keys of providers, by the identity of the provider."""


class IdentityTransformer:
    """Implements Transformer without a change. It refuses to read encrypted values."""

    __slots__ = ()

    def from_storage(self, data: bytes, context: bytes) -> tuple[bytes, bool]:
        """Implement Transformer.from_storage."""
        if data.startswith(ENCRYPTED_PREFIX):
            raise TransformError(NOT_DECRYPTED)
        return data, False

    def to_storage(self, data: bytes, context: bytes) -> bytes:
        """Implement Transformer.to_storage."""
        return data


class Providers:
    """Makes the transformers of resources. The ciphers exist once for each key; the choices among them count for each resource."""

    def __init__(
        self, configuration: EncryptionConfiguration, stats: TransformationStats, plugins: Mapping[str, Transformer] | None = None
    ) -> None:
        """Use the providers of a configuration; `plugins` are the transformers of its KMS providers by name."""
        self._stats = stats
        self._plugins = plugins or {}
        self._rules: dict[GroupResource, list[Provider]] = {}
        self._leaves: Leaves = {}
        for group in configuration.resources:
            for provider in group.providers:
                if isinstance(provider, KeyedProvider):
                    self._leaves[id(provider)] = _leaves(provider)
            for resource in group.resources:
                self._rules.setdefault(resource, []).extend(group.providers)

    def transformer(self, resource: GroupResource) -> Transformer | None:
        """Return a new transformer of a resource, None if the configuration does not name it."""
        name = str(resource)
        for rule in (resource, GroupResource(resource.group, "*"), _ANY):
            if providers := self._rules.get(rule):
                found = [self._prefix_transformer(each, name) for each in providers]
                return PrefixTransformers(found, "no matching prefix found", name, self._stats)
        return None

    def _prefix_transformer(self, provider: Provider, resource: str) -> PrefixTransformer:
        if isinstance(provider, IdentityProvider):
            return PrefixTransformer(b"", IdentityTransformer())
        if isinstance(provider, KMSProvider):
            return PrefixTransformer(f"k8s:enc:kms:v2:{provider.name}:".encode(), self._plugins[provider.name])
        keys: Sequence[PrefixTransformer] = [PrefixTransformer(f"{name}:".encode(), leaf) for name, leaf in self._leaves[id(provider)]]
        choice = PrefixTransformers(keys, _ERRORS[provider.type], resource, self._stats)
        return PrefixTransformer(f"k8s:enc:{provider.type}:v1:".encode(), choice)


def _leaves(provider: KeyedProvider) -> list[tuple[str, Transformer]]:
    if provider.type == "secretbox":
        try:
            from apiext.storage.value.secretbox import SecretboxTransformer
        except ImportError as error:
            raise ConfigurationError("PyNaCl is not installed") from error

        return [(name, SecretboxTransformer(key)) for name, key in provider.keys]
    from apiext.storage.value.aes import CBCTransformer, GCMTransformer

    kind = GCMTransformer if provider.type == "aesgcm" else CBCTransformer
    return [(name, kind(key)) for name, key in provider.keys]


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
