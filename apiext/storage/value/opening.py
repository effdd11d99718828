"""Opens the encryption of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.configuration import ConfigurationError
from apiext.storage.value.configuration import read_encryption_configuration
from apiext.storage.value.encryption import Encryption, kms_providers
from apiext.storage.value.transforming_backend import TransformingBackend

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.storage.backend import Backend
    from apiext.storage.value.configuration import EncryptionConfiguration
    from apiext.storage.value.kms.plugins import Plugins


async def open_encrypted(backend: Backend, prefix: str, path: Path, *, reload: bool = False) -> TransformingBackend:
    """Return a backend that encrypts the values below a prefix as a file says. Closing it closes the given one.

    Raises:
        ConfigurationError: the file cannot be read or is invalid, or a library is not installed.
    """
    configuration = read_encryption_configuration(path, reload=reload)
    return TransformingBackend(backend, prefix, Encryption(configuration, await open_plugins(configuration)))


async def open_plugins(configuration: EncryptionConfiguration, previous: Plugins | None = None) -> Plugins | None:
    """Connect to the KMS plugins of a configuration, None without any. A plugin that does not answer is tried again.

    The counts of the previous plugins continue.

    Raises:
        ConfigurationError: the library is not installed.
    """
    providers = kms_providers(configuration)
    if not providers:
        return None
    try:
        # few configurations have plugins
        from apiext.storage.value.kms.plugins import Plugins
    except ImportError as error:
        raise ConfigurationError("grpcio is not installed, install apiext[kms]") from error
    return await Plugins.open(providers, previous.stats if previous is not None else None)
