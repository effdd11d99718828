"""Facts about requests."""

import pytest

from apiext.base.meta.request import RequestInfo


@pytest.mark.parametrize("path, expected", [("/api", True), ("/apis/example.com/v1", True), ("/apisx", False), ("/version", False)])
def test_discovery(path: str, expected: bool) -> None:  # noqa: FBT001
    """Know the paths of discovery; those of resources are none."""
    assert RequestInfo(path=path).is_discovery == expected
    assert not RequestInfo(is_resource=True, path=path).is_discovery
