"""Rules and messages: what they must evaluate to, and which faults their errors name."""

import pytest

from apiext.schema.cel.declarations import DeclaredTypes, declare
from apiext.schema.cel.environment import Environment
from apiext.schema.cel.rule_compiler import check_message, check_rule, rule_environment, uses_old_self
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.cel.versions import new_environment, stored_environment
from apiext.schema.model import Structural

_SCHEMA = {
    "type": "object",
    "properties": {
        "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "i": {"x-kubernetes-int-or-string": True},
        "ll": {"type": "array", "items": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}}},
    },
}


def _environment(*, stored: bool = False, optional: bool = False) -> Environment:
    declaration = declare(Structural(_SCHEMA))
    assert declaration is not None
    base = stored_environment() if stored else new_environment()
    return rule_environment(base, DeclaredTypes(declaration), optional_old_self=optional)


@pytest.mark.parametrize(
    "rule, detail",
    [
        ("self.s", "cel expression must evaluate to a bool"),
        ("self.i", "cel expression must evaluate to a bool"),
        ("self.s.find('(') == ''", "program instantiation failed: error parsing regexp: missing closing ): `(`"),
        ("matches(self.s, '[')", "program instantiation failed: error parsing regexp: missing closing ]: `[`"),
        ("int('a') == 1 && string(b'\\xff') == ''", "program instantiation failed: type conversion error from 'string' to 'int'"),
        ("uint(-1) == 1u", "program instantiation failed: unsigned integer overflow"),
        ("type(self.s) == duration", "program instantiation failed: reference to undefined type: duration"),
    ],
)
def test_refused_rules(rule: str, detail: str) -> None:
    """A rule must be a bool, and a program must be possible."""
    with pytest.raises(CompileError) as error:
        check_rule(rule, _environment())

    assert str(error.value) == detail


@pytest.mark.parametrize(
    "rule, place, message",
    [
        ("self.x == 1", 5, "undefined field 'x'"),
        ("self.l.x == 1", 7, "type 'list(int)' does not support field selection"),
        ("self.ll[0][0].k == 1", 17, "found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.ll.all(a, a.all(b, b.z == ''))", 26, "undefined field 'z'"),
        ("self == 1", 6, "found no matching overload for '_==_' applied to '(selfType0, int)'"),
        ("self.s.matches('(')", 16, "invalid matches argument"),
        ("duration('1') > duration('1s')", 10, "invalid duration argument"),
        ("timestamp('2020-01-01') > timestamp(1)", 11, "invalid timestamp argument"),
        ("timestamp(1) > timestamp(99999999999999)", 26, "invalid timestamp argument"),
        ("'%q'.format([1]) == ''", 12, 'could not parse formatting clause: unrecognized formatting clause "q"'),
        ("'%d'.format(['a']) == ''", 14, "error during formatting: decimal clause can only be used on integers, was given string"),
        ("'%s'.format([1, 2]) == ''", 12, "too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%s %s'.format([1]) == ''", 15, "index 1 out of range"),
        ("'%'.format([1]) == ''", 11, "unexpected end of string"),
        ("[1, dyn('a')] == []", 8, "expected type 'int' but found 'dyn'"),
        ("{1: 1, 'a': 1} == {}", 8, "expected type 'int' but found 'string'"),
        ("a.B{} == self", 4, "undeclared reference to 'a.B' (in container '')"),
    ],
)
def test_compile_errors(rule: str, place: int, message: str) -> None:
    """Errors of the types of a schema name the fields and types."""
    with pytest.raises(CompileError) as error:
        check_rule(rule, _environment())

    assert str(error.value) == f"compilation failed: ERROR: <input>:1:{place}: {message}\n | {rule}\n | {'.' * (place - 1)}^"


@pytest.mark.parametrize(
    "expression, detail",
    [
        ("self.l", "messageExpression must evaluate to a string"),
        ("self.s.find('(')", "messageExpression instantiation failed: error parsing regexp: missing closing ): `(`"),
        ("string(uint(-1))", "messageExpression instantiation failed: unsigned integer overflow"),
        ("s", "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 's' (in container '')\n | s\n | ^"),
    ],
)
def test_refused_messages(expression: str, detail: str) -> None:
    """A message must be a string."""
    with pytest.raises(CompileError) as error:
        check_message(expression, _environment())

    assert str(error.value) == detail


@pytest.mark.parametrize(
    "rule, expected",
    [
        ("self == oldSelf", True),
        ("self.l.all(oldSelf, oldSelf > 0)", True),
        ("self.s == 'oldSelf'", False),
        ("self.l.all(x, x > 0)", False),
    ],
)
def test_transition_rules(rule: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """Every variable called oldSelf makes a transition rule, as in the reference."""
    assert uses_old_self(check_rule(rule, _environment())) is expected


def test_arguments_of_format_may_be_mixed() -> None:
    """Only the list that is formatted may have elements of several types."""
    check_rule("'%s %d %.3f %%'.format(['a', 1, 1.5]) == ''", _environment())


def test_optional_old_self() -> None:
    """The old value is optional if the rule says so."""
    check_rule("oldSelf.hasValue() && oldSelf.s.orValue('') == self.s", _environment(optional=True))
    with pytest.raises(CompileError, match="found no matching overload for 'hasValue'"):
        check_rule("oldSelf.hasValue()", _environment())


def test_new_expressions_use_what_the_previous_release_knows() -> None:
    """Functions of the newest release are for stored expressions only."""
    check_rule("self.l.includes(1)", _environment(stored=True))
    with pytest.raises(CompileError, match="undeclared reference to 'includes'"):
        check_rule("self.l.includes(1)", _environment())


@pytest.mark.parametrize("name", ["math.abs(1) == 1", "cel.bind(x, 1, x == 1)", "base64.encode(b'a') == ''", "self.l.existsOne(x, true)"])
def test_other_extensions_are_absent(name: str) -> None:
    """Extensions that the reference has not enabled are unknown."""
    with pytest.raises(CompileError, match="undeclared reference"):
        check_rule(name, _environment(stored=True))
