"""Selectors of aggregated ClusterRoles."""

from typing import Any

import pytest

from apiext.serving.rbac.aggregation import label_selector


@pytest.mark.parametrize(
    "selector, selected",
    [
        ({}, [True, True, True]),
        ({"matchLabels": {"a": "1"}}, [True, False, False]),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, [True, True, False]),
        ({"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, [False, False, True]),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["2", "3"]}]}, [False, True, False]),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["1"]}], "matchLabels": {"a": "2"}}, [False, True, False]),
    ],
)
def test_selectors(selector: dict[str, Any], selected: list[bool]) -> None:
    """Select labels as the reference does."""
    labels: list[dict[str, str]] = [{"a": "1"}, {"a": "2"}, {}]

    assert [label_selector(selector).matches(one) for one in labels] == selected
