"""Checks of admission expressions: what they may refer to and evaluate to, in the reference's words."""

from __future__ import annotations

import pytest

from apiext.schema.cel.policies.compiler import (
    ANNOTATION,
    ANY,
    APPLY_CONFIGURATION,
    CONDITION,
    JSON_PATCHES,
    InvalidExpressionError,
    PolicyCompiler,
)
from apiext.schema.cel.policies.environments import Declarations
from apiext.schema.cel.types import CelType

_PLAIN = Declarations()
_PATCHES = Declarations(patches=True)


def _fault(
    source: str, returns: tuple[CelType, ...], declarations: Declarations = _PLAIN, *, stored: bool = False
) -> InvalidExpressionError:
    with pytest.raises(InvalidExpressionError) as raised:
        PolicyCompiler().check(source, returns, declarations, stored=stored)
    return raised.value


@pytest.mark.parametrize(
    "source, returns, detail",
    [
        ("object.spec", CONDITION, "must evaluate to bool but got dyn"),
        ("1", ANNOTATION, "must evaluate to one of [string null_type] but got int"),
        ("[1]", JSON_PATCHES, "must evaluate to list(JSONPatch) but got list(int)"),
        ("object", APPLY_CONFIGURATION, "must evaluate to Object but got dyn"),
        ("Object.spec{}", APPLY_CONFIGURATION, "must evaluate to Object but got Object.spec"),
    ],
)
def test_the_type_of_a_result_is_checked(source: str, returns: tuple[CelType, ...], detail: str) -> None:
    """An expression must have one of the types that its field allows; dyn is none of them."""
    fault = _fault(source, returns, _PATCHES)

    assert (str(fault), fault.is_internal) == (detail, False)


@pytest.mark.parametrize(
    "source, declarations, message",
    [
        ("params == null", _PLAIN, "undeclared reference to 'params' (in container '')"),
        ("authorizer.group('') == null", Declarations(authorizer=False), "undeclared reference to 'authorizer' (in container '')"),
        ("variables.a == 1", _PLAIN, "undeclared reference to 'variables' (in container '')"),
        ("request.object == null", _PLAIN, "undefined field 'object'"),
        ("namespaceObject.metadata.uid == ''", _PLAIN, "undefined field 'uid'"),
        ("namespaceObject.metadata.managedFields == []", _PLAIN, "undefined field 'managedFields'"),
        ("Object{} == null", _PLAIN, "undeclared reference to 'Object' (in container '')"),
        ("JSONPatch{op: 1} == null", _PATCHES, "expected type of field 'op' is 'string' but provided type is 'int'"),
        ("jsonpatch.escapeKey('a') == 'a'", _PLAIN, "undeclared reference to 'jsonpatch' (in container '')"),
    ],
)
def test_names_outside_the_environment_are_refused(source: str, declarations: Declarations, message: str) -> None:
    """Each kind of expression has its own names."""
    fault = str(_fault(source, CONDITION, declarations))

    assert fault.startswith("compilation failed: ERROR: <input>:1:")
    assert message in fault


def test_an_expression_without_program_is_an_internal_error() -> None:
    """As in the reference, a constant that cannot be converted is no invalid value."""
    fault = _fault("int('a') == 1", CONDITION)

    assert fault.is_internal
    assert str(fault) == "program instantiation failed: type conversion error from 'string' to 'int'"
    undefined = _fault("type(object) == Object", CONDITION, _PATCHES)
    assert str(undefined) == "program instantiation failed: reference to undefined type: Object"


def test_stored_expressions_may_use_newer_functions() -> None:
    """What a newer version accepts is accepted in a stored expression only."""
    source = "[1, 2].includes(1)"
    PolicyCompiler().check(source, CONDITION, _PLAIN, stored=True)

    assert "includes" in str(_fault(source, CONDITION))


def test_variables_have_the_types_of_their_expressions() -> None:
    """Scalars, lists and maps keep their types; objects and types of libraries become dyn, an invalid variable too."""
    compiler = PolicyCompiler(composed=True)
    compiler.add_variable("n", "1 + 1", _PLAIN)
    compiler.add_variable("l", "[['a']]", _PLAIN)
    compiler.add_variable("q", "quantity('1')", _PLAIN)
    with pytest.raises(InvalidExpressionError):
        compiler.add_variable("bad", "variables.later", _PLAIN)

    types = {name: str(compiler.check(f"variables.{name}", ANY, _PLAIN).types[2]) for name in compiler.variables}

    assert types == {"n": "int", "l": "list(list(string))", "q": "dyn", "bad": "dyn"}
