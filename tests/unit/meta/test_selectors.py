"""Label and field selectors; the messages are those of kube-apiserver 1.37.1 for the same texts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.meta.selectors import LabelSelector, Operator, parse_field_selector, parse_label_selector

LABELS = {"app": "web", "tier": "front", "size": "10", "in": "in", "empty": ""}


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
    """Match as the reference does, and print sorted keys and values."""
    selector = parse_label_selector(text)

    assert str(selector) == printed
    assert selector.matches(LABELS) is matches


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


def test_equality_shortcut() -> None:
    """Set the shortcut for scans only for one value of one label."""
    assert parse_label_selector("a=b").equality == ("a", "b")
    assert parse_label_selector("a in (b)").equality == ("a", "b")
    assert parse_label_selector("a in (b,c)").equality is None
    assert parse_label_selector("a=b,c").equality is None
    assert LabelSelector().equality is None


@given(st.text(alphabet="ab=!(),>< in-/é\t", max_size=30))
def test_parses_or_rejects_any_text(text: str) -> None:
    """Return a selector whose text parses to itself again, or raise ValueError."""
    try:
        selector = parse_label_selector(text)
    except ValueError:
        return

    assert str(parse_label_selector(str(selector))) == str(selector)


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
    selector = parse_field_selector(text)

    assert str(selector) == printed
    assert selector.matches({"metadata.name": "a", "spec.y": "b"}) is matches


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


def test_field_selector_introspection() -> None:
    """Return the required value of a field, and a selector with replaced fields."""
    selector = parse_field_selector("a=1,b!=2,c=3")

    assert (selector.requires_exact("a"), selector.requires_exact("b")) == ("1", None)
    assert str(selector.transform(lambda name, value: ("", "") if name == "a" else (f"x.{name}", value))) == "x.b!=2,x.c=3"
    assert [requirement.operator for requirement in selector.requirements] == [Operator.EQUALS, Operator.NOT_EQUALS, Operator.EQUALS]
