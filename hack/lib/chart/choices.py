"""What a user of the chart can choose, and what kustomize builds for it."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Final

from hack.lib.manifests import Document, build_with, built

ETCD: Final = "etcd"
STORES: Final = (ETCD, "cert-manager-etcd", "existing-etcd", "sqlite")
"""The values of `store`: the etcd of the base, or the component that chooses another store."""
SERVERS, CONVERSIONS, CERT_MANAGER, BACKUP, WORKERS = "servers", "conversions", "cert-manager", "backup", "workers"
OPTIONS: Final = {
    SERVERS: ".Values.servers.enabled",
    CONVERSIONS: ".Values.conversions.enabled",
    CERT_MANAGER: ".Values.certManager.enabled",
    BACKUP: ".Values.backup.enabled",
    WORKERS: ".Values.workers.enabled",
    "crd-dir": ".Values.crdDir.enabled",
    "host-etcd": ".Values.hostEtcd.enabled",
    "monitoring": ".Values.monitoring.enabled",
}
"""The other options, with their values; all but the first two are components."""
_DEFAULT: Final = frozenset({SERVERS})
_WITH_ETCD: Final = frozenset({BACKUP, WORKERS})
_LEFT_OUT: Final = "Namespace"
"""Helm creates the namespace of a release itself."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A store, and options that are on."""

    store: str = ETCD
    options: frozenset[str] = _DEFAULT

    @property
    def is_valid(self) -> bool:
        """Report whether kustomize builds the components together."""
        return self.store != "sqlite" or not self.options & _WITH_ETCD

    def documents(self) -> list[Document]:
        """Return all objects of the choice. Callers do not modify them."""
        found: dict[str, Document] = {}
        if SERVERS in self.options:
            # the backup comes before the store
            components = sorted(self.options - {SERVERS, CONVERSIONS}) + ([self.store] if self.store != ETCD else [])
            found |= {identity(one): one for one in _with_components(tuple(components))}
        if CONVERSIONS in self.options:
            build = "conversion/cert-manager" if CERT_MANAGER in self.options else "conversion/base"
            found |= {identity(one): one for one in built(build)}
        return [one for one in found.values() if one["kind"] != _LEFT_OUT]


def choices() -> Iterator[Choice]:
    """Yield the valid choices that differ from the default by two at most, and the webhook without servers and one more."""
    for store in STORES:
        for count in range(3 if store == ETCD else 2):
            for options in combinations([name for name in OPTIONS if name != SERVERS], count):
                choice = Choice(store, _DEFAULT | set(options))
                if choice.is_valid:
                    yield choice
    for store in STORES:
        yield Choice(store, frozenset({CONVERSIONS}))
    for name in OPTIONS:
        if name not in {SERVERS, CONVERSIONS}:
            yield Choice(options=frozenset({CONVERSIONS, name}))


def identity(document: Document) -> str:
    """Return kind, namespace and name of an object."""
    return f"{document['kind']} {document['metadata'].get('namespace', '')}/{document['metadata']['name']}"


@cache
def _with_components(components: tuple[str, ...]) -> list[Document]:
    with tempfile.TemporaryDirectory() as folder:
        return build_with(components, Path(folder).resolve())
