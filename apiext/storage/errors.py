"""Outcomes of storage that the registry maps to a Status (apiserver pkg/storage/errors.go)."""

from __future__ import annotations

from typing import Final

from apiext.base.meta.errors import StatusError


class StorageError(Exception):
    """An outcome of storage that the registry maps to a Status; `key` is the key of the object."""

    code = 0
    text = ""
    """Number and name of the outcome in the reference's StorageError."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{message}: {key}" if key else message)
        self.key = key
        self.message = message

    def describe(self) -> str:
        """Return the text of the reference's StorageError."""
        return f"StorageError: {self.text}, Code: {self.code}, Key: {self.key}, ResourceVersion: 0, AdditionalErrorMsg: {self.message}"


class KeyNotFoundError(StorageError):
    """The key does not exist."""


class KeyExistsError(StorageError):
    """The key exists already."""


class InvalidObjectError(StorageError):
    """A precondition (uid, resourceVersion) does not hold; the message is the reference's."""

    code, text = 4, "invalid object"


class CorruptObjectError(StorageError):
    """The stored bytes are encrypted, or cannot be decoded or converted. The message may quote them."""

    code, text = 7, "corrupt object"

    @property
    def public(self) -> str:
        """Return the text of the error without the decoder's reason, which may quote the object."""
        return f"{self.message.partition(': ')[0]}: {self.key}"


class EncryptedObjectError(CorruptObjectError):
    """The stored bytes are encrypted."""


class UnknownPastError(CorruptObjectError):
    """An object is gone, or not selected any more, and its previous state cannot be decoded: a watcher may have seen an earlier one."""


RENDERING_ERRORS: Final = (CorruptObjectError, StatusError)
"""Errors of rendering an object: it cannot be decoded, or the converter cannot be used."""
