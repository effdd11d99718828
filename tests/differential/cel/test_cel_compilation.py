"""Errors of the rules of definitions, expression by expression, against the reference."""

import json
import re

import pytest

from apiext.schema.cel.declarations import declare
from apiext.schema.cel.rule_compiler import check_rule
from apiext.schema.cel.rules.expression import ExpressionCompiler
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.model import Structural
from hack.lib.differential.pair import Side, Step
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.cases import definition_cases
from tests.differential.cases.cel_expressions import EXPRESSIONS, SCHEMA, definition
from tests.differential.helpers.differences import assert_none

pytestmark = pytest.mark.slow

_FIELD = re.compile(r".*\.properties\[f(\d+)\]\.x-kubernetes-validations\[0\]\.rule")
_TYPE_NAME = re.compile(r"selfType\d+")
_NEXT_ERROR = re.compile(r"\n(?=ERROR: <input>:)")
_SYNTAX_ERROR = re.compile(r"(?<=Syntax error: ).*?(?=\n \| |$)", re.DOTALL)


def _details(control_plane: ControlPlane) -> dict[int, str]:
    side = Side(control_plane.url, control_plane.ssl_context())
    _, data = side.raw(Step("POST", f"{definition_cases.PATH}?dryRun=All", definition()))
    side.close()
    causes = json.loads(data)["details"]["causes"]
    fields = ((_FIELD.fullmatch(cause["field"]), cause) for cause in causes if cause["reason"] == "FieldValueInvalid")
    return {int(match[1]): _TYPE_NAME.sub("selfType0", cause["message"]) for match, cause in fields if match}


def _ours(rule: str) -> str:
    declaration = declare(Structural(SCHEMA))
    assert declaration is not None
    try:
        ExpressionCompiler(declaration).compile(rule, check_rule, stored=False, optional=False)
    except CompileError as error:
        return str(error)
    return ""


def _errors(text: str) -> list[str]:
    """Return the errors of an expression, each with its place and frame, but without the words of syntax errors."""
    return [_SYNTAX_ERROR.sub("...", error) for error in _NEXT_ERROR.split(text)]


def _equal(message: str, detail: str) -> bool:
    """Compare words; of a syntax error its place and frame. cel-go goes on after one and may report more."""
    if "Syntax error: " not in detail:
        return message.endswith(f": {detail}") if detail else not message
    theirs, ours = _errors(message[message.find("compilation failed: ") :]), _errors(detail)
    return theirs[: len(ours)] == ours


def test_expressions(control_plane: ControlPlane) -> None:
    """The reference accepts the same expressions, and refuses the others with the same words, syntax errors at the same place."""
    theirs = _details(control_plane)
    found = []
    for number, rule in enumerate(EXPRESSIONS):
        detail, message = _ours(rule), theirs.get(number, "")
        if not _equal(message, detail):
            found.append(f"{rule!r}\n  theirs: {message}\n  ours: {detail}")

    assert_none(found)
