"""Why a server does not start, in one line for whoever started it."""

from __future__ import annotations


class StartError(Exception):
    """The server cannot start; the message is one line that says why and, where it is known, what to do."""
