"""A cluster with apiext behind its kube-apiserver that somebody registered by hand."""

import json
from pathlib import Path
from typing import Final, Self

from tests.support.aggregated import CONFIG_MAP, CRDS, AggregatedCluster
from tests.support.inprocess import definition
from tests.support.waiting import until

__all__ = ["CONFIG_MAP", "GROUP", "PLAIN", "Cluster", "until"]

GROUP: Final = "aggregated.example.com"
PLAIN: Final = "plain.example.com"
"""The same definition, served by the kube-apiserver itself."""


class Cluster(AggregatedCluster):
    """One group of a folder, and the same definition on the host."""

    def __init__(self, folder: Path) -> None:
        crds = folder / "crds"
        crds.mkdir()
        (crds / "widgets.json").write_text(json.dumps(definition(group=GROUP)))
        super().__init__(folder, crd_dir=crds, controller_manager=False, operator=False)

    def __enter__(self) -> Self:
        """Start everything and register apiext with the host."""
        super().__enter__()
        try:
            self.host.must("POST", CRDS, definition(group=PLAIN))
            until(lambda: self.host.ask("GET", f"/apis/{PLAIN}/v1/widgets")[0] == 200)
            self.register(GROUP, "v1")
        except BaseException:
            self.__exit__()
            raise
        return self
