"""Tests the parsers of clients' input with inputs that reach ever more of their code: a minute of hack/fuzz, the same for the same code."""

import importlib.util

import pytest

from hack.lib.fuzz.__main__ import fuzz
from hack.lib.fuzz.targets import TARGETS

_SECONDS = 3
"""For each target; a minute in all."""
_SEED = 1
"""hack/fuzz finds new failures; a change of the code should not fail because of an older one."""


@pytest.mark.slow
@pytest.mark.long("hack/lib/fuzz")
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris has no build for this version of Python")
@pytest.mark.parametrize("name", TARGETS)
def test_new_inputs(name: str) -> None:
    """Raise no unexpected error, end in time, and read again what was written, for inputs that no one wrote."""
    run = fuzz(name, _SECONDS, seed=_SEED)

    assert run.failure == ""
    assert run.inputs
    assert run.edges
