"""The order of API versions."""

import pytest

from apiext.meta.version import compare_kube_aware, kube_aware_key


def test_versions_in_order() -> None:
    """Stable versions go before betas and alphas, greater numbers before smaller ones, other names last by the alphabet."""
    order = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]

    assert sorted(sorted(order), key=kube_aware_key) == order


@pytest.mark.parametrize("one, other, preferred", [("v1", "v1", 0), ("v01", "v1", 0), ("v1", "1", 1), ("v9", "v99999999999999999999", 1)])
def test_pairs(one: str, other: str, preferred: int) -> None:
    """Equal versions are equal; a number too great for the reference makes a name like any other."""
    assert compare_kube_aware(one, other) == preferred
    assert compare_kube_aware(other, one) == -preferred
