"""Matching of selectors: the reference's meaning of each requirement, and the cost."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiext.base.meta.selector_parser import parse_field_selector, parse_label_selector
from apiext.base.meta.selectors import FieldRequirement, FieldSelector, LabelRequirement, LabelSelector, Operator

KEYS = st.sampled_from("abcd")
VALUES = st.sampled_from(["", "x", "y", "-3", "0", "2", "+7", "007", "9223372036854775807", "9223372036854775808"])
NUMBERS = st.sampled_from(["-3", "0", "2", "+7", "007", "9223372036854775807"])


@st.composite
def label_requirements(draw: st.DrawFn) -> LabelRequirement:
    """Draw a requirement of any operator."""
    operator = draw(st.sampled_from(Operator))
    values: tuple[str, ...] = ()
    if operator in (Operator.IN, Operator.NOT_IN):
        values = tuple(sorted(draw(st.sets(VALUES, min_size=1, max_size=4))))
    elif operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        values = (draw(NUMBERS),)
    elif operator not in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        values = (draw(VALUES),)
    return LabelRequirement(draw(KEYS), operator, values)


def satisfies(labels: Mapping[str, str], requirement: LabelRequirement) -> bool:
    """Return whether labels satisfy one requirement, as the reference decides it (pkg/labels: Requirement.Matches)."""
    value, values = labels.get(requirement.key), requirement.values
    match requirement.operator:
        case Operator.EQUALS | Operator.DOUBLE_EQUALS | Operator.IN:
            return value in values
        case Operator.NOT_EQUALS | Operator.NOT_IN:
            return value not in values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
    if value is None or not value.lstrip("+-").isdigit() or not -(2**63) <= int(value) < 2**63:
        return False
    return int(value) > int(values[0]) if requirement.operator is Operator.GREATER_THAN else int(value) < int(values[0])


@given(st.lists(label_requirements(), max_size=6), st.dictionaries(KEYS, VALUES))
def test_all_label_requirements_hold(requirements: list[LabelRequirement], labels: dict[str, str]) -> None:
    """Select what satisfies every requirement by itself, however the requirements of a label combine."""
    selector = LabelSelector()
    for requirement in requirements:
        selector.add(requirement)
    expected = all(satisfies(labels, requirement) for requirement in requirements)

    assert selector.matches(labels) is expected
    assert not expected or all(values is None or labels[key] in values for key, values in selector.required.items())


@given(
    st.lists(st.builds(FieldRequirement, KEYS, st.sampled_from([Operator.EQUALS, Operator.NOT_EQUALS]), VALUES), max_size=6),
    st.dictionaries(KEYS, VALUES),
)
def test_all_field_requirements_hold(requirements: list[FieldRequirement], fields: dict[str, str]) -> None:
    """Select what satisfies every requirement by itself; an absent field is empty."""
    selector = FieldSelector()
    for requirement in requirements:
        selector.add(requirement)
    expected = all((fields.get(one.field, "") == one.value) is (one.operator is Operator.EQUALS) for one in requirements)

    assert selector.matches(fields) is expected


def test_field_selector_introspection() -> None:
    """Return the required value of a field, the first of contradictory ones, and the fields."""
    selector = parse_field_selector("a=1,b!=2,c=3,c=4,a!=5")

    assert (selector.requires_exact("a"), selector.requires_exact("b"), selector.requires_exact("c")) == ("1", None, "3")
    assert list(selector.fields) == ["a", "b", "c"]
    assert selector.size == 5


class CountedKey(str):
    """A key of a label that counts how many times it is looked up."""

    __slots__ = ()
    lookups = 0

    def __hash__(self) -> int:
        """Count, and return the hash."""
        CountedKey.lookups += 1
        return super().__hash__()


@pytest.mark.parametrize("operator", Operator)
def test_matching_costs_as_much_as_the_labels(operator: Operator) -> None:
    """Look up no more keys than an object has labels, however many labels the selector names."""
    values = () if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST) else ("1",)
    selector = LabelSelector()
    for number in range(1000):
        selector.add(LabelRequirement(CountedKey(f"k{number}"), operator, values))
    labels = {f"k{number}": "1" for number in range(5)}

    CountedKey.lookups = 0
    selector.matches(labels)
    selector.matches({"other": "1"})

    assert CountedKey.lookups <= len(labels)


def test_values_are_looked_up() -> None:
    """Share the values of a requirement as a set, and intersect those of several requirements of a label."""
    selector = parse_label_selector(f"a in ({','.join(map(str, range(1000)))}),a in (7,8,x),a!=8,b")

    assert selector.required == {"a": {"7", "8"}, "b": None}
    assert [selector.matches({"a": value, "b": ""}) for value in ("7", "8", "x")] == [True, False, False]
