"""The built-in groups of a server."""

from pathlib import Path

import pytest

from apiext.server.api import enabled_builtins
from apiext.server.options.feature_gates import parse_feature_gates
from apiext.server.options.options import KubeconfigSource, ServerOptions, ServingOptions, StorageOptions

CORE = "v1"
FLOWS = "flowcontrol.apiserver.k8s.io/v1"
FIRST = CORE, "events.k8s.io/v1", "rbac.authorization.k8s.io/v1"
LEASES = "coordination.k8s.io/v1"
CRDS = "apiextensions.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
MIGRATIONS = "storagemigration.k8s.io/v1"
VERSIONS = "internal.apiserver.k8s.io/v1alpha1"
REVIEWS = ["authentication.k8s.io/v1", "authorization.k8s.io/v1"]


@pytest.mark.parametrize(
    "gates, host, expected",
    [
        ([], None, [*FIRST, ADMISSION, CRDS, LEASES, FLOWS, MIGRATIONS, *REVIEWS]),
        (["StorageVersionMigrator=false"], None, [*FIRST, ADMISSION, CRDS, LEASES, FLOWS, *REVIEWS]),
        (["StorageVersionAPI=true"], None, [*FIRST, ADMISSION, CRDS, LEASES, FLOWS, MIGRATIONS, *REVIEWS, VERSIONS]),
        (["StorageVersionAPI=true"], KubeconfigSource("--kubeconfig"), [CRDS]),
    ],
)
def test_groups(tmp_path: Path, gates: list[str], host: KubeconfigSource | None, expected: list[str]) -> None:
    """Serve groups as their feature gates say, and only definitions behind a cluster, which owns the others."""
    options = ServerOptions(
        serving=ServingOptions(cert_dir=tmp_path),
        storage=StorageOptions(data_dir=tmp_path),
        feature_gates=parse_feature_gates(gates),
        host=host,
    )

    assert [str(builtin.group_version) for builtin in enabled_builtins(options)] == expected
