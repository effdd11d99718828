"""What is in a namespace that ends: deleted, counted, and told of in the namespace's conditions.

Mirrors pkg/controller/namespace/deletion of kubernetes (namespaced_resources_deleter.go, status_condition_utils.go).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.meta import errors, time
from apiext.registry.request_context import DeleteOptions, RequestContext
from apiext.serving.definition_instances import SYSTEM
from apiext.storage.backend import BackendError
from apiext.storage.interface import ListOptions, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.storage.interface import Item

FAILURES: Final = (errors.StatusError, StorageError, BackendError)
"""What deleting a resource may fail with."""

_FINE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""The conditions in their order, with what they say when nothing is wrong."""


@dataclass(slots=True)
class Content:
    """What has become of a namespace's objects."""

    remaining: Counter[str] = field(default_factory=Counter)
    """Objects by resource."""
    finalizers: Counter[str] = field(default_factory=Counter)
    """Objects that each finalizer keeps."""
    failures: list[str] = field(default_factory=list)

    @property
    def is_gone(self) -> bool:
        """Whether nothing is left."""
        return not self.remaining and not self.failures

    async def delete(self, scope: Scope, namespace: str) -> None:
        """Delete a resource's objects, and note which stay."""
        context = RequestContext(user=SYSTEM, namespace=namespace)
        try:
            await scope.rest.delete_collection(context, DeleteOptions(propagation_policy="Background"), ListOptions())
            left = (await scope.rest.list(context, ListOptions())).items
        except FAILURES as error:
            self.failures.append(str(error))
            return
        if left:
            self._count(scope, namespace, left)

    def _count(self, scope: Scope, namespace: str, left: Iterable[Item]) -> None:
        finalizers: Counter[str] = Counter()
        resource = scope.resource
        for item in left:
            self.remaining[f"{resource.resource}.{resource.group}"] += 1
            finalizers.update((item.object().get("metadata") or {}).get("finalizers") or ())
        if not finalizers:
            which = f"{resource.group}/{resource.version}, Resource={resource.resource}"
            self.failures.append(f"unexpected items still remain in namespace: {namespace} for gvr: {which}")
        self.finalizers += finalizers

    def conditions(self, former: Iterable[Object]) -> list[Object]:
        """The namespace's conditions from now on; the very same objects where nothing has changed."""
        found = list(former)
        places: dict[str, int] = {}
        for place, condition in enumerate(found):
            # of two of one type the first one counts
            places.setdefault(condition["type"], place)
        wrong = self._wrong()
        for name, fine in _FINE.items():
            reason, message = wrong.get(name, fine)
            told = {"status": "True" if name in wrong else "False", "reason": reason, "message": message}
            place = places.get(name, len(found))
            old = found[place] if name in places else {}
            if any(old.get(key) != text for key, text in told.items()):
                since = old["lastTransitionTime"] if old.get("status") == told["status"] else time.now()
                found[place : place + 1] = [{"type": name, **told, "lastTransitionTime": since}]
        return found

    def _wrong(self) -> dict[str, tuple[str, str]]:
        """Reason and message of each condition that is not as it should be."""
        wrong: dict[str, tuple[str, str]] = {}
        if self.failures:
            told = ", ".join(sorted(self.failures))
            message = f"Failed to delete all resource types, {len(self.failures)} remaining: {told}"
            wrong["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
        if self.remaining:
            told = _counted(f"{name} has {count} resource instances" for name, count in self.remaining.items())
            wrong["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {told}")
        if self.finalizers:
            told = _counted(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            message = f"Some content in the namespace has finalizers remaining: {told}"
            wrong["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
        return wrong


def _counted(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))
