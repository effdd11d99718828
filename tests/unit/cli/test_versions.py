"""`apiext versions`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import click
import pytest
from click.testing import CliRunner

from apiext.cli import versions
from apiext.cli.main import apiext

ROW = {"name": "v1", "served": True, "storage": True, "deprecated": False, "stored": True, "objects": 3}
REPORT = {"name": "widgets.example.com", "objects": 3, "unknown": 0, "versions": [ROW]}


async def _answer(what: str, _rest: Sequence[str], _query: Mapping[str, str]) -> Any:
    if what == "invalid":
        raise click.ClickException("the conversion webhook does not answer")
    return REPORT if what == "versions" else {"items": []}


def test_counts_what_cannot_be_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print the counts, and on stderr why the objects were not validated."""

    @asynccontextmanager
    async def source(_flags: object) -> AsyncIterator[object]:
        yield _answer

    monkeypatch.setattr(versions, "open_source", source)
    result = CliRunner().invoke(apiext, ["versions", "widgets.example.com"])

    assert result.exit_code == 0
    assert result.stderr == "widgets.example.com: not validated: the conversion webhook does not answer\n"
    assert "objects stored" in result.stdout
    assert "invalid" not in result.stdout


def test_a_page_has_no_other_format() -> None:
    """Refuse --output beside --html, instead of ignoring it."""
    result = CliRunner().invoke(apiext, ["versions", "--html=page.html", "-o", "json"])

    assert result.exit_code == 2
    assert "--html writes a page: give no --output" in result.stderr
