"""The order of version names (apimachinery pkg/version, CompareKubeAwareVersionStrings)."""

from __future__ import annotations

import re
from typing import Final

_KUBE_VERSION: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = {None: 0, "beta": 1, "alpha": 2}
_MAX_VERSION_NUMBER: Final = 2**63
"""A name with a version number from here on is not a Kubernetes version."""


def kube_aware_key(version: str) -> tuple[int, int, int, str]:
    """Return a sort key: the preferred version first, names that are not Kubernetes versions last, in alphabetical order."""
    matched = _KUBE_VERSION.fullmatch(version)
    if matched is not None:
        major, stability, minor = matched.groups()
        numbers = int(major), int(minor or 0)
        if max(numbers) < _MAX_VERSION_NUMBER:
            return _STABILITY[stability], -numbers[0], -numbers[1], ""
    return len(_STABILITY), 0, 0, version
