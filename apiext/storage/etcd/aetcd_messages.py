"""The protobuf messages of etcd's API from `aetcd`, without the rest of aetcd.

The package `aetcd` imports its client and grpc, which apiext does not use. Its message modules import each other by their bare names
within one folder; this module imports that folder as a package.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = f"{__name__}_messages"


def _messages() -> ModuleType:
    found = importlib.util.find_spec("aetcd")
    if found is None or found.submodule_search_locations is None:
        raise ModuleNotFoundError("aetcd is not installed", name="aetcd")
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(Path(place) / "rpc") for place in found.submodule_search_locations]
    sys.modules[_PACKAGE] = package
    return importlib.import_module(f"{_PACKAGE}.rpc_pb2")


rpc: Final[Any] = _messages()
"""The generated module `rpc_pb2`."""
