"""aetcd's messages, generated from etcd's API, without the rest of aetcd.

aetcd's own package loads its client and grpc with it, none of which is used here. The messages are modules of a folder of
its own, which import each other as neighbours: here that folder is a package by another name.
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
"""The module of the messages."""
