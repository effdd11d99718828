"""Collects suites: each case of a file *.testsuite.yaml is a test of pytest.

A hook of the plugin. Each process of pytest starts one server for suites, with the first case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

_SUFFIX: Final = ".testsuite.yaml"
"""As in lab/suites/collection.py, which is imported with the first suite."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a suite."""
    if not file_path.name.endswith(_SUFFIX):
        return None
    from apiext.testkit.suite_items import SuiteFile

    return SuiteFile.from_parent(parent, path=file_path)
