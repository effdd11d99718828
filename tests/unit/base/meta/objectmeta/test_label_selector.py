"""LabelSelectors of API objects."""

from typing import Any

import pytest

from apiext.base.meta.objectmeta.label_selector import parse_selector


@pytest.mark.parametrize(
    "selector, selected",
    [
        ({}, [True, True, True]),
        (None, [False, False, False]),
        ({"matchLabels": {"a": "1"}}, [True, False, False]),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, [True, True, False]),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, [False, False, True]),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["2", "3"]}]}, [False, True, False]),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}], "matchLabels": {"a": "2"}}, [False, True, False]),
    ],
)
def test_selectors(selector: dict[str, Any] | None, selected: list[bool]) -> None:
    """Select labels as the reference does."""
    labels: list[dict[str, str]] = [{"a": "1"}, {"a": "2"}, {}]

    assert [parse_selector(selector).matches(one) for one in labels] == selected


@pytest.mark.parametrize(
    "expression, problem",
    [
        ({"key": "a", "operator": "Gt", "values": ["1"]}, '"Gt" is not a valid label selector operator'),
        ({"key": "a b", "operator": "Exists"}, 'key: Invalid value: "a b": name part must consist of'),
        ({"key": "a", "operator": "In", "values": ["b c"]}, 'values[0][a]: Invalid value: "b c": a valid label must be'),
    ],
)
def test_invalid_selectors(expression: dict[str, Any], problem: str) -> None:
    """Refuse selectors that were stored before their validation, in the reference's words."""
    with pytest.raises(ValueError, match=r"^") as caught:
        parse_selector({"matchExpressions": [expression]})

    assert str(caught.value).startswith(problem)
