"""The transformers of a configuration by resource (apiserver pkg/server/options/encryptionconfig/config.go).

Identity: apiserver pkg/storage/value/encrypt/identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.base.meta.configuration import ConfigurationError
from apiext.base.meta.gvk import GroupResource
from apiext.storage.stored_object import ENCRYPTED_PREFIX, NOT_DECRYPTED
from apiext.storage.value.configuration import IdentityProvider, KeyedProvider, KMSProvider
from apiext.storage.value.transformer import PrefixTransformer, PrefixTransformers, Transformer, TransformError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.storage.value.configuration import EncryptionConfiguration, Provider
    from apiext.storage.value.transformation_stats import TransformationStats

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
