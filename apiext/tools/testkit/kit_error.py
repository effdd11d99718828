"""The error of the test kit."""

from __future__ import annotations


class KitError(Exception):
    """A test's server does not start, or refuses what the kit does with it. The message says why."""
