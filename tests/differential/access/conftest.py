"""Both servers with RBAC."""

from collections.abc import Iterator

import pytest

from tests.differential.helpers.rbac_pair import RBACPair, rbac_pair


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RBACPair]:
    """Start both servers."""
    with rbac_pair(tmp_path_factory.mktemp("rbac")) as both:
        yield both
