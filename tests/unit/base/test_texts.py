"""Numbers with their nouns."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from apiext.base.texts import counted

PACKAGE: Final = Path(__file__).resolve().parents[3] / "apiext"
NOUNS: Final = frozenset(
    {"CRDs", "bindings", "cases", "changes", "definitions", "endpoints", "files", "keys", "objects", "problems", "suites", "warnings"}
)
OF_REFERENCE: Final = frozenset({"api/migration/migration_state.py", "resources/conversion/webhook.py"})
"""Modules with messages that are the reference's, and say "1 objects"."""


@pytest.mark.parametrize("number, text", [(0, "0 objects"), (1, "1 object"), (2, "2 objects")])
def test_counts(number: int, text: str) -> None:
    """Use the singular for one."""
    assert counted(number, "object") == text


def _uncounted(path: Path) -> list[str]:
    """Return the texts of a module in which a plural follows a number whatever it is."""
    texts = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.JoinedStr)]
    pairs = [pair for text in texts for pair in zip(text.values, text.values[1:], strict=False)]
    found = []
    for before, after in pairs:
        noun = re.match(r" (\w+)", after.value) if isinstance(after, ast.Constant) and isinstance(after.value, str) else None
        if noun and noun[1] in NOUNS and isinstance(before, ast.FormattedValue) and not _is_limit(before.value):
            found.append(noun[1])
    return found


def _is_limit(value: ast.expr) -> bool:
    """Report whether a value is a constant of a module, which is greater than one."""
    return isinstance(value, ast.Name) and value.id.isupper()


def test_no_message_says_one_objects() -> None:
    """Leave it to `counted` to choose the form of a noun."""
    found = {str(path.relative_to(PACKAGE)): _uncounted(path) for path in PACKAGE.rglob("*.py")}

    assert {name: texts for name, texts in found.items() if texts and name not in OF_REFERENCE} == {}
