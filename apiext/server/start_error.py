"""The error of a failed start."""

from __future__ import annotations


class StartError(Exception):
    """The server cannot start. The message is one line with the cause and, if known, the remedy."""
