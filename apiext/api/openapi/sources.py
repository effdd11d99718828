"""The source of each document, and its hash.

Mirrors apiextensions-apiserver pkg/controller/openapi and openapiv3 (the definitions of each document).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import apiext
from apiext.api.openapi import builtin_resources, custom_resources, naming, v2_document, v3_document
from apiext.api.openapi.operations import Operation, operations
from apiext.api.openapi.schemas import Schema
from apiext.base.meta.builtin_resources import BuiltinGroupVersion
from apiext.base.meta.gvk import GroupVersion
from apiext.resources.definitions.definition import Definition, Version

_CORE: Final = GroupVersion("", "v1")
_GROUPS: Final = (
    *("admissionregistration.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io", "events.k8s.io"),
    *("rbac.authorization.k8s.io", "storagemigration.k8s.io"),
)
_ALL_GROUPS: Final = (_CORE, *(GroupVersion(group, version) for group in _GROUPS for version in ("v1", "v1beta1")))
"""Upstream's scheme knows v1beta1 of these groups although it is not served."""


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of one document."""

    hash: str
    """Upper-case hex; equal for equal parts, in any process."""
    builtins: tuple[BuiltinGroupVersion, ...] = ()
    discovery: tuple[Operation, ...] = ()
    customs: tuple[tuple[Definition, Version], ...] = ()

    @property
    def is_on_host(self) -> bool:
        """Whether the host has the document too: all its definitions are mirrors."""
        return all(definition.phase is not None for definition, _ in self.customs)

    def v3(self, title_version: str) -> dict[str, Any]:
        """Build the v3 document, which may take seconds."""
        groups = {_CORE, *(one.group_version for one in self.builtins)}
        version = "" if self.customs else title_version
        return v3_document.build(self._paths(), self._schemas(v2=False), sorted(groups), version=version)

    def v2(self, title_version: str) -> dict[str, Any]:
        """Build the v2 document, which may take seconds."""
        return v2_document.build(self._paths(), self._schemas(v2=True), _ALL_GROUPS, title_version)

    def _paths(self) -> dict[str, list[Operation]]:
        found: dict[str, list[Operation]] = defaultdict(list)
        for operation in self._operations():
            found[operation.path].append(operation)
        return dict(sorted(found.items()))

    def _operations(self) -> Iterator[Operation]:
        yield from self.discovery
        for group_version in self.builtins:
            for resource in group_version.resources:
                yield from operations(builtin_resources.documented(resource))
        for definition, version in self.customs:
            yield from operations(custom_resources.documented(definition, version))

    def _schemas(self, *, v2: bool) -> dict[str, Schema]:
        found: dict[str, Schema] = {}
        for definition, version in self.customs:
            found |= custom_resources.definitions(definition, version, v2=v2)
        return found


def sources(definitions: Iterable[Definition], builtins: Sequence[BuiltinGroupVersion]) -> dict[str, Source]:
    """Return the source of each v3 document by path; a built-in version replaces a custom one of the same name."""
    customs: dict[str, list[tuple[Definition, Version]]] = defaultdict(list)
    for definition in sorted(definitions, key=lambda definition: definition.name):
        if definition.is_established:
            for version in definition.served_versions:
                customs[naming.document_path(GroupVersion(definition.group, version.name))].append((definition, version))
    found = {path: Source(_hash(path, parts), customs=tuple(parts)) for path, parts in customs.items()}
    own = {naming.document_path(one.group_version): one for one in builtins}
    for path, discovery in builtin_resources.discovery(builtins).items():
        found[path] = Source(_hash(path, ()), builtins=(own[path],) if path in own else (), discovery=discovery)
    return dict(sorted(found.items()))


def merged(all_sources: Iterable[Source]) -> Source:
    """Return the source of the v2 document."""
    parts = list(all_sources)
    return Source(
        _sha512("\n".join(source.hash for source in parts)),
        builtins=tuple(one for source in parts for one in source.builtins),
        discovery=tuple(one for source in parts for one in source.discovery),
        customs=tuple(one for source in parts for one in source.customs),
    )


def _hash(path: str, parts: Iterable[tuple[Definition, Version]]) -> str:
    """Return a hash of the source, not of the document: the index must not build all documents."""
    lines = [apiext.__version__, path]
    lines += [f"{part.name},{part.uid},{part.head['metadata'].get('generation', 0)}" for part, _ in parts]
    return _sha512("\n".join(lines))


def _sha512(text: str) -> str:
    return hashlib.sha512(text.encode()).hexdigest().upper()
