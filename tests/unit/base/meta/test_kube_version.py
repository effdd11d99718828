"""The order of version names."""

import pytest

from apiext.base.meta.kube_version import kube_aware_key


def test_orders_versions() -> None:
    """Order stable versions before betas and alphas, greater numbers before smaller ones, other names last."""
    order = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "bar", "foo1", "foo10", "zz"]

    assert sorted(sorted(order), key=kube_aware_key) == order


@pytest.mark.parametrize("preferred, other", [("v1", "1"), ("v9", "v99999999999999999999")])
def test_prefers_versions_to_names(preferred: str, other: str) -> None:
    """Sort versions before other names, and numbers beyond the reference's limit as names."""
    assert kube_aware_key(preferred) < kube_aware_key(other)
    assert kube_aware_key("v01") == kube_aware_key("v1")
