"""Loads the files of a plug-in into the index of configurations, and loads them again when they change.

Mirrors apiserver pkg/admission/plugin/webhook/manifest/source and plugin/policy/manifest/source.

Manifest files: apiserver pkg/admission/plugin/manifest/loader.go.

Reload stats: apiserver pkg/admission/plugin/manifest/metrics.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.api.admission.dynamic import MUTATING_POLICY, MUTATING_WEBHOOK, VALIDATING_POLICY, VALIDATING_WEBHOOK
from apiext.base.meta import field as fields
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.documents import FileProblem, parse
from apiext.base.meta.golang.formatting import quote
from apiext.base.meta.limits import MAX_DEPTH
from apiext.base.meta.log import get_logger
from apiext.resources.definitions.sources.directory import watch_folder
from apiext.resources.registry.admissionregistration import kinds
from apiext.resources.registry.admissionregistration.strategies import STATIC_SUFFIX, RegistrationStrategy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from apiext.api.admission.configuration.index import FollowedObjects
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.builtin.kind import BuiltinKind

_LOG: Final = get_logger(__name__)
_RETRY_SECONDS: Final = 5.0


PLUGIN_KINDS: Final[dict[str, tuple[BuiltinKind, ...]]] = {
    MUTATING_WEBHOOK: (kinds.MUTATING_WEBHOOKS_KIND,),
    VALIDATING_WEBHOOK: (kinds.VALIDATING_WEBHOOKS_KIND,),
    MUTATING_POLICY: (kinds.MUTATING_POLICY_KIND, kinds.MUTATING_BINDING_KIND),
    VALIDATING_POLICY: (kinds.VALIDATING_POLICY_KIND, kinds.VALIDATING_BINDING_KIND),
}
"""The kinds that the files of each plug-in may have."""
_V1: Final = "admissionregistration.k8s.io/v1"


_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


@dataclass(slots=True)
class ReloadStats:
    """The reloads of a server by plug-in."""

    server: str
    """The server's identity."""
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    """Reloads by status and plug-in."""
    times: dict[tuple[str, str], float] = field(default_factory=dict)
    """Times of the last reloads, in seconds since the epoch."""
    digests: dict[str, str] = field(default_factory=dict)
    """Hashes of the files that apply, by plug-in."""

    @property
    def server_hash(self) -> str:
        """Return the hash of the identity, as metrics show it."""
        return f"sha256:{hashlib.sha256(self.server.encode()).hexdigest()}" if self.server else ""

    def succeed(self, plugin: str, digest: str) -> None:
        """Count a successful load."""
        self._count("success", plugin)
        self.digests[plugin] = digest

    def fail(self, plugin: str) -> None:
        """Count a failed reload."""
        self._count("failure", plugin)

    def _count(self, status: str, plugin: str) -> None:
        self.counts[status, plugin] = self.counts.get((status, plugin), 0) + 1
        self.times[status, plugin] = time.time()


class ManifestError(ValueError):
    """The files of a folder cannot be used. The text says why."""


class Manifests(NamedTuple):
    """The documents of a folder."""

    documents: list[tuple[Path, Any]]
    """The documents that are not empty, with their files, which are in the order of their names."""
    digest: str
    """A hash of all files; empty if there is no data."""


def read_manifests(folder: Path) -> Manifests:
    """Return the documents of the YAML and JSON files of a folder, without its subfolders.

    Raises:
        ManifestError: a file cannot be read, or is neither YAML nor JSON.
    """
    documents: list[tuple[Path, Any]] = []
    digest, has_data = hashlib.sha256(), False
    try:
        files = sorted((path for path in folder.iterdir() if not path.is_dir()), key=lambda path: path.name)
        for path in files:
            data = path.read_bytes() if path.suffix.lower() in _SUFFIXES else b""
            if not data:
                continue
            has_data = True
            digest.update(data + b"\0")
            documents += [(path, document) for document in _parse(path, data)]
    except OSError as error:
        raise ManifestError(f"failed to read manifest directory {str(folder)!r}: {error}") from error
    return Manifests(documents, f"sha256:{digest.hexdigest()}" if has_data else "")


def _parse(path: Path, data: bytes) -> list[Any]:
    try:
        return parse(data)
    except FileProblem as error:
        raise ManifestError(f"error loading {path}: {error}") from error


def manifest_objects(plugin: str, manifests: Manifests) -> dict[str, list[Object]]:
    """Return the objects of a plug-in by plural, sorted by name, with defaults.

    Raises:
        ManifestError: a document is not valid, or of another kind.
    """
    reader = _Reader({kind.resource.kind.kind: kind for kind in PLUGIN_KINDS[plugin]})
    for path, document in manifests.documents:
        try:
            for obj in reader.objects(document):
                reader.add(obj, path)
        except ManifestError as error:
            raise ManifestError(f"error loading {path}: {error}") from error
    reader.check_references()
    return {plural: [found[name] for name in sorted(found)] for plural, found in reader.found.items()}


@dataclass(slots=True)
class _Reader:
    kinds: dict[str, BuiltinKind]
    found: dict[str, dict[str, Object]] = field(init=False)
    _files: dict[tuple[str, str], Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.found = {kind.resource.plural: {} for kind in self.kinds.values()}

    def objects(self, document: Any) -> Iterator[Object]:
        """Yield the objects of a document, which may be a list of them."""
        if not isinstance(document, dict) or json_values.is_deeper(document, MAX_DEPTH):
            raise ManifestError("not an object")
        kind, version = document.get("kind"), document.get("apiVersion")
        if (version, kind) == ("v1", "List"):
            for item in document.get("items") or ():
                yield from self.objects(item)
        elif version == _V1 and isinstance(kind, str) and kind.removesuffix("List") in self.kinds:
            single = kind.removesuffix("List")
            for item in (document.get("items") or ()) if kind.endswith("List") else (document,):
                yield self._decoded(self.kinds[single], item)
        else:
            raise ManifestError(f"unsupported resource type {version}, Kind={kind}")

    def _decoded(self, kind: BuiltinKind, document: Any) -> Object:
        """Return an object with defaults after validation."""
        if not isinstance(document, dict):
            raise ManifestError("not an object")
        name = kind.resource.kind.kind
        obj = {**json_values.copy(document), "apiVersion": _V1, "kind": name}
        try:
            unknown = kind.codec().decode_body(obj, True)  # noqa: FBT003
        except ValueError as error:
            raise ManifestError(str(error)) from error
        if unknown:
            raise ManifestError(f"strict decoding error: {', '.join(unknown)}")
        strategy = kind.strategy
        problems = strategy.errors(obj, None) if isinstance(strategy, RegistrationStrategy) else []
        if problems:
            raise ManifestError(f"{name} {quote(obj['metadata'].get('name', ''))}: {fields.aggregate(problems)}")
        return obj

    def add(self, obj: Object, path: Path) -> None:
        """Add an object after the checks that only files have."""
        kind, name, shown = obj["kind"], obj["metadata"].get("name", ""), quote(str(path))
        if not name.endswith(STATIC_SUFFIX):
            raise ManifestError(f"{quote(name)} in file {shown} must have a name ending with {quote(STATIC_SUFFIX)}")
        before = self._files.setdefault((kind, name), path)
        plural = self.kinds[kind].resource.plural
        if name in self.found[plural]:
            raise ManifestError(f"duplicate name {quote(name)} found in file {shown} (previously seen in {quote(str(before))})")
        for webhook in obj.get("webhooks", ()):
            _check_client(webhook, name, shown)
        _check_policy(obj, name)
        self.found[plural][name] = _with_revision(obj)

    def check_references(self) -> None:
        """Check that the policies of all bindings exist."""
        policies = {name for plural, found in self.found.items() if plural.endswith("policies") for name in found}
        for plural, found in self.found.items():
            for name, obj in found.items() if plural.endswith("bindings") else ():
                policy = obj["spec"]["policyName"]
                if policy not in policies:
                    where = "which does not exist in the manifest directory"
                    raise ManifestError(f"binding {quote(name)} references policy {quote(policy)} {where}")


def _check_client(webhook: Object, name: str, shown: str) -> None:
    client, where = webhook["clientConfig"], f"webhook {quote(webhook['name'])} in {quote(name)} (file {shown})"
    if "service" in client:
        raise ManifestError(f"{where}: clientConfig.service is not supported for static manifests; use clientConfig.url instead")
    if not client.get("url"):
        raise ManifestError(f"{where}: clientConfig.url is required for static manifests")


def _check_policy(obj: Object, name: str) -> None:
    spec, shown = obj.get("spec", {}), quote(name)
    if "paramKind" in spec:
        raise ManifestError(f"{obj['kind']} {shown}: spec.paramKind is not supported for static manifests")
    if not obj["kind"].endswith("Binding"):
        return
    if not spec["policyName"].endswith(STATIC_SUFFIX):
        raise ManifestError(f"binding {shown}: spec.policyName {quote(spec['policyName'])} must end with {quote(STATIC_SUFFIX)}")
    if "paramRef" in spec:
        raise ManifestError(f"binding {shown}: spec.paramRef is not supported for static manifests")


def _with_revision(obj: Object) -> Object:
    """Return an object with a resourceVersion that is equal for equal objects only."""
    digest = hashlib.sha256(json_codec.dumps(obj)).hexdigest()
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": digest}}


class StaticSource:
    """The files of one plug-in."""

    def __init__(self, plugin: str, folder: Path, followers: Mapping[str, FollowedObjects], stats: ReloadStats) -> None:
        self._plugin = plugin
        self._folder = folder
        self._followers = followers
        self._stats = stats
        self._digest = ""

    async def load(self) -> None:
        """Load the files.

        Raises:
            ManifestError: the files cannot be used.
        """
        digest, objects = await asyncio.to_thread(self._read)
        self._take(digest, objects)

    async def follow(self) -> None:
        """Load the files again when they change, until cancelled. Files that cannot be used change nothing."""
        while True:
            try:
                async for changed in watch_folder(self._folder):
                    if changed:
                        await self._reload()
            except OSError as error:
                _LOG.warning("manifest folder watch failed, retrying", folder=str(self._folder), error=str(error))
            except Exception:  # noqa: BLE001 -- the folder must be watched while the server runs
                _LOG.exception("manifest folder watch failed, retrying", folder=str(self._folder))
            await asyncio.sleep(_RETRY_SECONDS)

    async def _reload(self) -> None:
        try:
            digest, objects = await asyncio.to_thread(self._read)
        except ManifestError as error:
            _LOG.error("invalid admission manifests", plugin=self._plugin, folder=str(self._folder), error=str(error))
            self._stats.fail(self._plugin)
            return
        if digest != self._digest:
            self._take(digest, objects)

    def _read(self) -> tuple[str, dict[str, list[Object]]]:
        manifests = read_manifests(self._folder)
        return manifests.digest, manifest_objects(self._plugin, manifests)

    def _take(self, digest: str, objects: dict[str, list[Object]]) -> None:
        self._digest = digest
        for plural, found in objects.items():
            self._followers[plural].replaced(found)
        number = sum(map(len, objects.values()))
        _LOG.info("admission manifests loaded", plugin=self._plugin, folder=str(self._folder), objects=number)
        self._stats.succeed(self._plugin, digest)
