"""Tests of the import of aiohttp, each in a process of its own."""

import subprocess
import sys
from typing import Final

import pytest

_CHECK: Final = """
import ssl
from apiext.server.aiohttp_import import import_aiohttp

create = ssl.create_default_context
import_aiohttp()
import_aiohttp()

from aiohttp import connector

context = connector._SSL_CONTEXT_VERIFIED
print(ssl.create_default_context is create, len(context.get_ca_certs()), context.verify_mode.name, context.check_hostname)
"""


def _printed(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def test_clients_without_a_context_verify_and_trust_nobody() -> None:
    """A client that forgets its context must fail; contexts made afterwards trust as ever."""
    assert _printed(_CHECK) == "True 0 CERT_REQUIRED True"


@pytest.mark.parametrize("module", ["apiext.cli.main", "apiext.server.options.flags", "apiext.operator.options"])
def test_aiohttp_is_not_imported_before(module: str) -> None:
    """What the commands import at their top must leave the first import to them."""
    assert _printed(f"import sys, {module}; print('aiohttp' in sys.modules)") == "False"
