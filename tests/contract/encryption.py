"""Encryption of all resources for stores under test."""

from apiext.base.meta.gvk import GroupResource
from apiext.storage.value.configuration import EncryptedResources, EncryptionConfiguration, IdentityProvider, KeyedProvider, Provider
from apiext.storage.value.encryption import Encryption

KEY = KeyedProvider("aesgcm", (("key1", bytes(range(32))),))
OTHER_KEY = KeyedProvider("aesgcm", (("key2", bytes(range(16))),))


def configuration(*providers: Provider) -> EncryptionConfiguration:
    """Return a configuration with providers for all resources."""
    return EncryptionConfiguration([EncryptedResources([GroupResource("*", "*")], providers)], f"sha256:{len(providers)}")


def encryption(*providers: Provider) -> Encryption:
    """Return an encryption of all resources, by default with one key."""
    return Encryption(configuration(*(providers or (KEY, IdentityProvider()))))
