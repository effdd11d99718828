"""The environment variable KUBECONFIG for libraries in this process, and for the programs that it starts."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_VARIABLE: Final = "KUBECONFIG"
_CONSTANT: Final = "KUBE_CONFIG_DEFAULT_LOCATION"
_MODULES: Final = tuple(f"{package}.config{module}" for package in ("kubernetes", "kubernetes_asyncio") for module in ("", ".kube_config"))
"""The clients for Python read the variable only once, when they are imported."""


@contextmanager
def kubeconfig_environment(path: Path) -> Generator[None]:
    """Set the variable while the block runs, also for clients that are imported already."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(path)
    _set_default(str(path))
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
        _set_default(before or "~/.kube/config")


def _set_default(path: str) -> None:
    for name in _MODULES:
        module = sys.modules.get(name)
        if module is not None and hasattr(module, _CONSTANT):
            setattr(module, _CONSTANT, path)
