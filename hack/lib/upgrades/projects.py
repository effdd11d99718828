"""The upgrades: two tags each of real projects, whose definitions and samples come from their Go modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hack.lib.operator_manifests import module_folder

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Two tags of a project."""

    project: str
    module: str
    """The Go module, without a version."""
    old: str
    new: str
    definitions: str
    """The folder of the definitions in the module."""
    samples: str
    """The folder of the samples."""

    @property
    def name(self) -> str:
        """Return the project with its tags."""
        return f"{self.project} {self.old} {self.new}"

    def folders(self, sources: Path | None = None) -> tuple[Path, Path]:
        """Return the sources of both tags: those below `sources`, in the folder NAME/TAG, or the modules, which are downloaded at first.

        Raises:
            UnavailableManifestError: there is no Go toolchain, or the proxy does not give the module.
        """
        return self._folder(self.old, sources), self._folder(self.new, sources)

    def _folder(self, tag: str, sources: Path | None) -> Path:
        given = sources / self.module.rpartition("/")[2] / tag if sources is not None else None
        return given if given is not None and given.is_dir() else module_folder(f"{self.module}@{tag}")


_SOURCE: Final = ("github.com/fluxcd/source-controller", "config/crd/bases", "config/samples")
_HELM: Final = ("github.com/fluxcd/helm-controller", "config/crd/bases", "config/samples")
_SECRETS: Final = ("github.com/external-secrets/external-secrets", "config/crds/bases", "docs/snippets")
_GATEWAY: Final = ("sigs.k8s.io/gateway-api", "config/crd/standard", "examples/standard")
_PROMETHEUS: Final = ("github.com/prometheus-operator/prometheus-operator", "example/prometheus-operator-crd", "example/user-guides")
_ROLLOUTS: Final = ("github.com/argoproj/argo-rollouts", "manifests/crds", "examples")
_POSTGRES: Final = ("github.com/cloudnative-pg/cloudnative-pg", "config/crd/bases", "docs/src/samples")
_METALLB: Final = ("go.universe.tf/metallb", "config/crd/bases", "configsamples")
_ROWS: Final = (
    ("flux source-controller", _SOURCE, "v0.36.1", "v1.0.0"),
    ("flux source-controller", _SOURCE, "v1.7.4", "v1.8.5"),
    ("flux helm-controller", _HELM, "v0.37.4", "v1.0.1"),
    ("external-secrets", _SECRETS, "v0.9.0", "v0.10.7"),
    ("external-secrets", _SECRETS, "v0.16.2", "v0.17.0"),
    ("gateway-api", _GATEWAY, "v0.8.1", "v1.0.0"),
    ("gateway-api", _GATEWAY, "v1.1.1", "v1.2.1"),
    ("prometheus-operator", _PROMETHEUS, "v0.65.2", "v0.72.0"),
    ("prometheus-operator", _PROMETHEUS, "v0.72.0", "v0.79.2"),
    ("argo-rollouts", _ROLLOUTS, "v1.6.6", "v1.7.2"),
    ("argo-rollouts", _ROLLOUTS, "v1.7.2", "v1.8.0"),
    ("cloudnative-pg", _POSTGRES, "v1.24.1", "v1.25.0"),
    ("metallb", _METALLB, "v0.13.12", "v0.14.9"),
)
UPGRADES: Final = tuple(
    Upgrade(project, module, old, new, definitions, samples) for project, (module, definitions, samples), old, new in _ROWS
)
