"""Label and field selectors; the messages are those of kube-apiserver 1.37.1 for the same texts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.selector_parser import (
    field_requirement_steps,
    field_selector_steps,
    label_requirement_steps,
    label_selector_steps,
    parse_field_selector,
    parse_label_selector,
)
from apiext.base.meta.selectors import OPERATORS, LabelRequirement, Operator
from apiext.base.meta.steps import Steps, at_once

SYMBOLS = {operator: symbol for symbol, operator in OPERATORS.items()}
LABELS = {"app": "web", "tier": "front", "size": "10", "in": "in", "empty": ""}


def printed_labels(text: str) -> str:
    """Return the requirements of a label selector as the reference prints them."""
    return ",".join(map(_printed, sorted(at_once(label_requirement_steps(text)), key=lambda one: one.key)))


def _printed(requirement: LabelRequirement) -> str:
    key, operator, values = requirement.key, requirement.operator, ",".join(requirement.values)
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        return f"!{key}" if operator is Operator.DOES_NOT_EXIST else key
    return f"{key} {operator} ({values})" if operator in (Operator.IN, Operator.NOT_IN) else f"{key}{SYMBOLS[operator]}{values}"


def printed_fields(text: str) -> str:
    """Return the requirements of a field selector as the reference prints them."""
    escaped = str.maketrans({character: f"\\{character}" for character in "\\,="})
    return ",".join(f"{one.field}{one.operator}{one.value.translate(escaped)}" for one in at_once(field_requirement_steps(text)))


@pytest.mark.parametrize(
    "text,printed,matches",
    [
        ("", "", True),
        ("app=web", "app=web", True),
        ("app==web", "app==web", True),
        ("app=db", "app=db", False),
        ("app!=db", "app!=db", True),
        ("app!=web", "app!=web", False),
        ("missing!=x", "missing!=x", True),
        (" app = web ", "app=web", True),
        ("tier=front,app=web", "app=web,tier=front", True),
        ("app in (web, db)", "app in (db,web)", True),
        ("app in(db)", "app in (db)", False),
        ("app notin (web)", "app notin (web)", False),
        ("missing notin (x)", "missing notin (x)", True),
        ("app\tin\n(web)", "app in (web)", True),
        ("app", "app", True),
        ("missing", "missing", False),
        ("!app", "!app", False),
        ("!missing", "!missing", True),
        ("size>9", "size>9", True),
        ("size>10", "size>10", False),
        ("size<11", "size<11", True),
        ("app>1", "app>1", False),
        ("missing>1", "missing>1", False),
        ("in=in", "in=in", True),
        ("in in (in)", "in in (in)", True),
        ("notin", "notin", False),
        ("empty=", "empty=", True),
        ("missing=", "missing=", False),
        ("empty in (,)", "empty in ()", True),
        ("app in (,web)", "app in (,web)", True),
        ("app in (web,,db)", "app in (,db,web)", True),
        ("empty in ()", "empty in ()", True),
    ],
)
def test_label_selector(text: str, printed: str, *, matches: bool) -> None:
    """Match as the reference does, with sorted values."""
    assert printed_labels(text) == printed
    assert parse_label_selector(text).matches(LABELS) is matches


KEY_FORMAT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  "
    "or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_FORMAT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    "text,message",
    [
        ("a\0", f'unable to parse requirement: <nil>: Invalid value: "a\\x00": name part {KEY_FORMAT}'),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a in (b) c", "found 'c', expected: ',' or 'end of string'"),
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
        ("a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
        ("-a", f'unable to parse requirement: <nil>: Invalid value: "-a": name part {KEY_FORMAT}'),
        ("a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE_FORMAT}'),
        ("a=" + "x" * 64, f'unable to parse requirement: values[0][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes'),
    ],
)
def test_rejects_malformed_label_selectors(text: str, message: str) -> None:
    """Raise the reference's message for a malformed label selector."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_label_selector(text)


@given(st.text(alphabet="ab=!(),>< in-/é\t", max_size=30))
def test_parses_or_rejects_any_text(text: str) -> None:
    """Return requirements whose text parses to them again, or raise ValueError."""
    try:
        printed = printed_labels(text)
    except ValueError:
        return

    assert printed_labels(printed) == printed


@pytest.mark.parametrize(
    "text,printed,matches",
    [
        ("", "", True),
        ("metadata.name=a", "metadata.name=a", True),
        ("metadata.name==a", "metadata.name=a", True),
        ("metadata.name!=a", "metadata.name!=a", False),
        ("spec.x=", "spec.x=", True),
        ("spec.y=b,metadata.name=a", "metadata.name=a,spec.y=b", True),
        ("metadata.name=a,,", "metadata.name=a", True),
        ("=,!=,metadata.name=a", "metadata.name=a", True),
        ("=", "", True),
        (r"metadata.name=a\,b\=c\\", r"metadata.name=a\,b\=c\\", False),
    ],
)
def test_field_selector(text: str, printed: str, *, matches: bool) -> None:
    """Match as the reference does; an absent field is empty."""
    assert printed_fields(text) == printed
    assert parse_field_selector(text).matches({"metadata.name": "a", "spec.y": "b"}) is matches


@pytest.mark.parametrize(
    "text,message",
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
    ],
)
def test_rejects_malformed_field_selectors(text: str, message: str) -> None:
    """Raise the reference's message for a malformed field selector."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_field_selector(text)


def steps(parse: Steps[object]) -> int:
    """Return the number of steps of a parse."""
    return sum(1 for _ in parse)


@pytest.mark.parametrize("separator", [",!", ",", "=1,", ">1,", " in (1),"])
def test_label_selectors_are_parsed_in_steps(separator: str) -> None:
    """Make a step for each requirement of a label selector."""
    text = separator.join(f"step{number}" for number in range(200))

    assert 200 <= steps(label_selector_steps(text)) <= 400
    assert steps(label_selector_steps(text)) == 0


@pytest.mark.parametrize("pattern", ["many in ({})", "many notin ({})"])
def test_values_are_parsed_in_steps(pattern: str) -> None:
    """Make a step at least for each 64 values."""
    assert steps(label_selector_steps(pattern.format(",".join(f"v{number}" for number in range(6400))))) >= 200


def test_field_selectors_are_parsed_in_steps() -> None:
    """Make a step for each term of a field selector."""
    assert steps(field_selector_steps(",".join(f"step{number}!=x" for number in range(200)))) == 200


def test_names_a_thousand_invalid_values() -> None:
    """Name a limited number of invalid values in an error."""
    with pytest.raises(ValueError, match=r"values\[999\]") as failure:
        parse_label_selector(f"a in ({','.join(f'-{number}' for number in range(1002))})")

    assert "values[1000]" not in str(failure.value)


def test_remembers_the_latest_selectors() -> None:
    """Return the same selector for the same text until newer ones take its room."""
    first = parse_label_selector("remembered")
    assert parse_label_selector("remembered") is first

    for number in range(10):
        parse_label_selector(f"x{number} in ({','.join(f'{value:05}' for value in range(10_000))})")
    assert parse_label_selector("remembered") is not first
