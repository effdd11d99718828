"""Fixtures: a reference that serves real definitions, and the same definitions as apiext reads them."""

from collections.abc import Iterator
from typing import Any

import pytest

from apiext.definitions.definition import Definition
from hack.lib.real_crds import real_crds
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.support.builders.crds import definition
from tests.support.clients.client import CRDS, Client
from tests.support.clients.published import Published, every_feature


class Reference:
    """A client of the reference and the definitions that it created."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.definitions: list[Definition] = []

    def get(self, path: str, **headers: str) -> Any:
        """Send a GET that must succeed and return the parsed body."""
        with Client(self.plane) as client:
            return client.must("GET", path, headers=headers)

    def define(self, crds: list[dict[str, Any]]) -> None:
        """Create definitions and return when they are published."""
        for crd in crds:
            self.plane.client.must("POST", CRDS, crd)
        names = {crd["metadata"]["name"] for crd in crds}
        until(lambda: self._is_published(names))

    def _is_published(self, names: set[str]) -> bool:
        stored = [one for one in self.get(CRDS)["items"] if one["metadata"]["name"] in names]
        self.definitions = [definition({"apiVersion": "apiextensions.k8s.io/v1", **one}) for one in stored]
        if not all(one.is_established for one in self.definitions):
            return False
        listed = self.get("/openapi/v3")["paths"]
        published = Published(self.definitions)
        return all(path in listed and self._has_all(path, document) for path, document in published.v3.items())

    def _has_all(self, path: str, document: dict[str, Any]) -> bool:
        """Report whether the reference publishes all paths of a document, which it extends definition by definition."""
        return set(self.get(f"/openapi/v3/{path}")["paths"]) >= set(document["paths"])


@pytest.fixture(scope="package")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    """Start a separate reference with the real definitions and one that uses every feature.

    The shared control plane has no real definitions: deleting so many may take minutes.
    """
    with ControlPlane(tmp_path_factory.mktemp("published"), durable=False) as plane:
        client = Reference(plane)
        client.define([*real_crds(), every_feature()])
        yield client
