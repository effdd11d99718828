"""The order of API versions: v2 before v1, v1 before v1beta1, all of these before any other name.

Mirrors apimachinery pkg/version (CompareKubeAwareVersionStrings).
"""

from __future__ import annotations

import functools
import re
from typing import Final

_KUBE: Final = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY: Final = {"alpha": 0, "beta": 1, None: 2}
_MAX: Final = 2**63
"""Numbers from here on make a name like any other."""


def compare_kube_aware(one: str, other: str) -> int:
    """Greater than zero when `one` is preferred to `other`, zero when they say the same."""
    if one == other:
        return 0
    first, second = _parts(one), _parts(other)
    if first is not None and second is not None:
        return (first > second) - (first < second)
    if first is not None or second is not None:
        return 1 if second is None else -1
    # neither is a Kubernetes version: the alphabet decides, and the first letter goes first
    return 1 if one < other else -1


def _descending(one: str, other: str) -> int:
    return -compare_kube_aware(one, other)


kube_aware_key: Final = functools.cmp_to_key(_descending)
"""Sort key that puts the preferred version first."""


def _parts(version: str) -> tuple[int, int, int] | None:
    matched = _KUBE.fullmatch(version)
    if matched is None:
        return None
    major, stability, minor = matched.groups()
    numbers = int(major), int(minor or 0)
    if max(numbers) >= _MAX:
        return None
    return _STABILITY[stability], *numbers
