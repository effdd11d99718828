"""Tests of the import of aiohttp, each in a process of its own."""

import importlib.metadata
import subprocess
import sys
from typing import Final

import pytest


def _printed(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("module", ["apiext.cli.main", "apiext.server.options.flags", "apiext.operator.options"])
def test_aiohttp_is_not_imported_before(module: str) -> None:
    """What the commands import at their top must leave the first import to them."""
    assert _printed(f"import sys, {module}; print('aiohttp' in sys.modules)") == "False"


_PARTS: Final = """
import sys
from apiext.server.aiohttp_import import PACKAGE, WEB, import_aiohttp

import_aiohttp()
import apiext.server.lifecycle
from aiohttp import web
import aiohttp

early = {name: getattr(web, name) for name in WEB} | {name: getattr(aiohttp, name) for name in PACKAGE}
client = "aiohttp.client" in sys.modules or "aiohttp.web_app" in sys.modules
web.Application, aiohttp.ClientSession
late = {name: getattr(web, name) for name in WEB} | {name: getattr(aiohttp, name) for name in PACKAGE}
print(client, early == late, aiohttp.ClientSession is sys.modules["aiohttp.client"].ClientSession, hasattr(aiohttp, "nothing"))
print(aiohttp.__version__, hasattr(web, "nothing"), aiohttp.web is web, aiohttp.connector.__name__)
"""


def test_a_server_imports_neither_the_client_nor_the_framework() -> None:
    """Import both when they are used; what was imported before stays the same."""
    version = importlib.metadata.version("aiohttp")

    assert _printed(_PARTS) == f"False True True False\n{version} False True aiohttp.connector"


def test_threads_use_the_client_together() -> None:
    """Let threads that need the client at the same time wait for its one import."""
    program = """
import threading
from apiext.server.aiohttp_import import import_aiohttp

import_aiohttp()
import aiohttp

found, together = [], threading.Barrier(8)

def use() -> None:
    together.wait()
    found.append(aiohttp.ClientSession)

threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), len(set(found)))
"""
    assert _printed(program) == "8 1"


def test_an_import_that_failed_is_tried_again() -> None:
    """Raise the error of the import, and import at the next use."""
    program = """
from apiext.server.aiohttp_import import import_aiohttp

import_aiohttp()
import aiohttp

loader = aiohttp.__spec__.loader
run, errors = loader.exec_module, [OSError(24, "Too many open files")]

def exec_module(module: object) -> None:
    if errors:
        raise errors.pop()
    run(module)

loader.exec_module = exec_module
try:
    aiohttp.ClientSession
except OSError as error:
    print(error.errno, aiohttp.ClientSession.__name__)
"""
    assert _printed(program) == "24 ClientSession"
