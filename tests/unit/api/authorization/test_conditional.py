"""How a host shows that it authorizes with conditions."""

from typing import Any

import pytest

from apiext.api.authorization.conditional import gate_of, serves_reviews


@pytest.mark.parametrize(
    "line, enabled",
    [
        (b'kubernetes_feature_enabled{name="ConditionalAuthorization",stage="ALPHA"} 1', True),
        (b'kubernetes_feature_enabled{stage="",name="ConditionalAuthorization"} 1', True),
        (b'kubernetes_feature_enabled{name="ConditionalAuthorization",stage="ALPHA"} 0', False),
        (b'kubernetes_feature_enabled{name="ConditionalAuthorizationX",stage="ALPHA"} 1', None),
        (b'kubernetes_feature_enabled{name="WatchList",stage="BETA"} 1', None),
        (b'# HELP kubernetes_feature_enabled name="ConditionalAuthorization"', None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_reads_the_gate(line: bytes, enabled: bool | None) -> None:  # noqa: FBT001 -- a table
    """Find the gate in a line of metrics."""
    assert gate_of(line) is enabled


@pytest.mark.parametrize(
    "document, serves",
    [
        ({"resources": [{"name": "a"}, {"name": "authorizationconditionsreviews"}]}, True),
        ({"resources": [{"name": "localsubjectaccessreviews"}, 5]}, False),
        ({"resources": None}, False),
        ({}, False),
    ],
)
def test_reads_discovery(document: dict[str, Any], serves: bool) -> None:  # noqa: FBT001 -- a table
    """Find the reviews of conditions in a list of resources."""
    assert serves_reviews(document) is serves
