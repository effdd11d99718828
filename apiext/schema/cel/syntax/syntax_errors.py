"""Syntax errors: what was found at a place, and what was expected there.

The place and the frame are cel-go's; the words are not, because its parser generator makes them from the grammar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.schema.cel.syntax.source import Issue
from apiext.schema.cel.syntax.tokens import END, UNRECOGNIZED

if TYPE_CHECKING:
    from apiext.schema.cel.syntax.tokens import Tokens

EXPRESSION: Final = "an expression"
"""What is expected where an operand begins."""
NAME: Final = "a name"
"""What is expected after a leading dot."""
FIELD_NAME: Final = "a field name"
"""What is expected after the dot of a selection."""
_END: Final = "end of the expression"
_MAX_SHOWN: Final = 40
"""Characters of a token that are shown."""


class SyntaxFaultError(Exception):
    """The text is not an expression."""

    def __init__(self, tokens: Tokens, at: int, expected: str) -> None:
        """Blame a token. `expected` describes what may follow instead: words of this module, or the text of a sign."""
        super().__init__(_message(tokens.kinds[at], tokens.texts[at], expected))
        self.issue = Issue(tokens.offsets[at], str(self))


def _message(kind: str, text: str, expected: str) -> str:
    if kind == UNRECOGNIZED:
        if text in "\"'":
            return "Syntax error: string literal is not closed or has an invalid escape sequence"
        if text == "`":
            return "Syntax error: escaped field name is not closed or has an invalid character"
        return f"Syntax error: unexpected character {_shown(text)}"
    found = _END if kind == END else _shown(text)
    return f"Syntax error: unexpected {found}, expected {f'the {_END}' if expected == END else expected}"


def _shown(text: str) -> str:
    """Return a text in quotes, its beginning if it is long; a string literal has quotes already."""
    if len(text) > _MAX_SHOWN:
        text = f"{text[:_MAX_SHOWN]}..."
    return text if text[-1] in "\"'" else f"'{text}'"
