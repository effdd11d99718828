"""Words of syntax errors: cel-cpp generates its parser from cel-go's grammar with the same tool, so its words are nearly the same."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from apiext.schema.cel.syntax.source import Issue, display_issues

if TYPE_CHECKING:
    from cel_expr_python import cel

_ERROR: Final = re.compile(r"^(?:INVALID_ARGUMENT: )?ERROR: <input>:(\d+):(\d+): (.*?)(?: \[INVALID_ARGUMENT\])?$", re.MULTILINE)
_UNRECOGNIZED: Final = "Syntax error: token recognition error at: '"
_OTHER_WORDS: Final = (
    (re.compile(r"Syntax error: More than 30 parse errors\."), "Syntax error: error recovery attempt limit exceeded: 30"),
    (re.compile(r"has\(\) argument must be a field selection"), "invalid argument to has() macro"),
    (re.compile(r"(?:all|exists|exists_one)\(\) variable name must be a simple identifier"), "argument must be a simple name"),
    (re.compile(r"\w+\(\) (?:first|second) variable name must be a simple identifier"), "argument must be a simple name"),
    (re.compile(r"Invalid string literal: Illegal escape sequence: .*"), "invalid unicode code point"),
    (re.compile(r"Invalid bytes literal: Illegal escape sequence: .*"), "unable to unescape string"),
    (re.compile(r"(?:map|filter)\(\) variable name must be a simple identifier"), "argument is not an identifier"),
)
_FOREIGN: Final = re.compile(
    r"Syntax error: More than 12 parse errors\.|invalid constant literal expression|Invalid \w+ literal: String must end with .*"
)
"""Errors beside others where cel-go has none: it stops later, accepts raw strings that end with a backslash, and skips missing literals."""
_WITHOUT_NAME: Final = re.compile(r"no viable alternative at input '\.(true|false|null)'")
_NO_FIELD: Final = re.compile(r"Syntax error: mismatched input .* expecting \{IDENTIFIER, ESC_IDENTIFIER\}")
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


@cache
def _environment() -> cel.Env:
    """Import cel-cpp, which takes 5 MiB, for the first syntax error only."""
    from cel_expr_python import cel
    from cel_expr_python.ext import ext_optional

    config = cel.NewEnvConfigFromYaml("extensions: [{name: two-var-comprehensions}]")
    return cel.NewEnv(config=config, extensions=[ext_optional.ExtOptional()])


def describe_syntax_errors(source: str) -> str:
    """Return the errors of a text that is no expression."""
    try:
        _environment().compile(source, disable_check=True)
    except RuntimeError as error:
        issues = _translate(source, str(error))
        if issues:
            return display_issues(source, issues)
    return display_issues(source, [Issue(None, "Syntax error")])


def _translate(source: str, text: str) -> list[Issue]:
    """Return the errors that cel-cpp displays in the words of cel-go."""
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    issues = []
    for line, column, shown in _ERROR.findall(text):
        if int(line) > len(starts) or _FOREIGN.fullmatch(shown):
            continue
        offset = starts[int(line) - 1] + int(column) - 1
        message = _WITHOUT_NAME.sub(r"mismatched input '\1' expecting IDENTIFIER", shown.replace(r"'\u003F'", "'?'"))
        if message.startswith(_UNRECOGNIZED):
            message = f"{_UNRECOGNIZED}{_raw(source[offset:], message.removeprefix(_UNRECOGNIZED)[:-1])}'"
        issues.append(Issue(offset, next((words for pattern, words in _OTHER_WORDS if pattern.fullmatch(message)), message)))
        if _NO_FIELD.fullmatch(message):
            issues.append(Issue(offset, "unsupported ident kind"))
    return sorted(issues, key=lambda issue: not issue.message.startswith("Syntax error"))


def _raw(source: str, shown: str) -> str:
    """Return the beginning of the source that is shown with its white space escaped."""
    length = end = 0
    while end < len(source) and (length < len(shown) or end == 0):
        length += len(_ESCAPES.get(source[end], " "))
        end += 1
    return source[:end]
