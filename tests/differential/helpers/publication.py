"""Waits until a server publishes the types of definitions: its objects are served earlier."""

import http.client
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hack.lib.differential.pair import Side, Step
from hack.lib.waiting import until

_DISCOVERY: Final = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
_KINDS: Final = "x-kubernetes-group-version-kind"
Kind = tuple[str, str, str]
"""Group, version and kind."""


def until_published(side: Side, crds: Iterable[dict[str, Any]]) -> None:
    """Wait until discovery and OpenAPI v3 have all served versions of the definitions.

    kube-apiserver publishes the versions of a definition one after the other, and lists new documents of OpenAPI once a second. Whoever
    asks earlier finds some of the versions only, and a client that remembers discovery takes the others for unknown.

    Raises:
        AssertionError: some are missing after the time that `until` waits.
    """
    kinds = set(_served(crds))
    until(lambda: kinds <= set(_discovered(side)), f"discovery of {sorted(kinds)} at {side.url}")
    until(lambda: kinds <= set(_documented(side, kinds)), f"OpenAPI v3 of {sorted(kinds)} at {side.url}")


def _served(crds: Iterable[dict[str, Any]]) -> Iterator[Kind]:
    for spec in (crd["spec"] for crd in crds):
        yield from ((spec["group"], version["name"], spec["names"]["kind"]) for version in spec["versions"] if version["served"])


def _discovered(side: Side) -> Iterator[Kind]:
    """Yield the kinds in discovery; a version whose resources the server has yet to look up is stale."""
    for group in _document(side, "/apis", _DISCOVERY).get("items", ()):
        for version in group["versions"]:
            if version.get("freshness") != "Stale":
                kinds = (resource["responseKind"]["kind"] for resource in version.get("resources", ()))
                yield from ((group["metadata"]["name"], version["version"], kind) for kind in kinds)


def _documented(side: Side, kinds: set[Kind]) -> Iterator[Kind]:
    """Yield the kinds of schemas in the listed documents of the versions of `kinds`."""
    listed = _document(side, "/openapi/v3").get("paths", {})
    for path in {f"apis/{group}/{version}" for group, version, _ in kinds} & listed.keys():
        schemas = _document(side, listed[path]["serverRelativeURL"]).get("components", {}).get("schemas", {})
        for found in (found for schema in schemas.values() for found in schema.get(_KINDS, ())):
            yield found["group"], found["version"], found["kind"]


def _document(side: Side, path: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    response, data = side.raw(Step("GET", path, headers=headers or {}))
    return dict(json.loads(data)) if response.status == http.client.OK else {}
