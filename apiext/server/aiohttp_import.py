"""Import the parts of aiohttp that a server uses. The others are imported when something uses them.

aiohttp's package imports its client, and its module `web` the framework with routes and files. A server without webhooks uses neither:
30 ms of its start, and 4 MiB.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION: Final = re.compile(r'__version__ = "([^"]+)"\s')
"""The first line of the package. Its modules need the version before anything else."""
PACKAGE: Final = {"WSCloseCode": "http", "WSMsgType": "http"}
"""What this program uses of the package itself in every server, and where it is defined."""
WEB: Final = {
    "BaseRequest": "web_request",
    "HTTPBadRequest": "web_exceptions",
    "HTTPException": "web_exceptions",
    "HTTPRequestEntityTooLarge": "web_exceptions",
    "PayloadAccessError": "web_protocol",
    "RequestKey": "helpers",
    "RequestPayloadError": "web_protocol",
    "Server": "web_server",
    "StreamResponse": "web_response",
    "WebSocketResponse": "web_ws",
}
"""What this program uses of `aiohttp.web`, and where it is defined."""


def import_aiohttp() -> None:
    """Import aiohttp, before any other module does and while there is one thread."""
    if "aiohttp" in sys.modules:
        return
    spec = importlib.util.find_spec("aiohttp")
    version = _VERSION.match(Path(spec.origin).read_text(encoding="utf-8")) if spec is not None and spec.origin is not None else None
    if version is None:
        importlib.import_module("aiohttp")
        return
    package = _Deferred("aiohttp", PACKAGE).module
    package.__dict__["__version__"] = version[1]
    package.__dict__["web"] = _Deferred("aiohttp.web", WEB).module


class _Deferred:
    """A module that runs its code when an attribute is missing that neither its submodules nor `places` have."""

    def __init__(self, name: str, places: Mapping[str, str]) -> None:
        """Add the module to the imported ones. `places` maps attributes to the modules of aiohttp that define them."""
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(name)
        self.module: Final = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
        self._places: Final = places
        self._lock: Final = threading.RLock()
        self._is_running = False
        self.module.__dict__["__getattr__"] = self._find

    def _find(self, name: str) -> Any:
        if name in self._places:
            # the whole module has it in any version of aiohttp
            with contextlib.suppress(ImportError, AttributeError):
                found = getattr(importlib.import_module(f"aiohttp.{self._places[name]}"), name)
                setattr(self.module, name, found)
                return found
        if name.startswith("__") or self._is_submodule(name):
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}")
        with self._lock:
            if not self._is_running:
                self._is_running = True
                try:
                    self._run()
                except BaseException:
                    # the next use tries again: files or memory may have run out
                    self._is_running = False
                    raise
        if name not in self.module.__dict__:
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}")
        return self.module.__dict__[name]

    def _is_submodule(self, name: str) -> bool:
        """Report whether an import statement, which looks for an attribute first, shall import a submodule."""
        return hasattr(self.module, "__path__") and importlib.util.find_spec(f"{self.module.__name__}.{name}") is not None

    def _run(self) -> None:
        spec = self.module.__spec__
        if spec is None or spec.loader is None:
            raise ImportError(name=self.module.__name__)
        spec.loader.exec_module(self.module)
