"""Deletion of a terminating namespace's objects, and the conditions that report its progress.

Mirrors pkg/controller/namespace/deletion of kubernetes (namespaced_resources_deleter.go, status_condition_utils.go).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.api.endpoints.handlers.delete_options import registry_options
from apiext.api.endpoints.parameters.options import DeleteQuery
from apiext.api.endpoints.scopes.context import Admitter
from apiext.api.endpoints.scopes.write_call import WriteCall
from apiext.base.meta import errors, time
from apiext.base.meta.request import AdmissionOperation, controller_user
from apiext.resources.registry.request_context import RequestContext
from apiext.storage.backend import BackendError
from apiext.storage.errors import StorageError
from apiext.storage.interface import ListOptions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.storage.interface import Item

FAILURES: Final = (errors.StatusError, StorageError, BackendError)
"""Expected exceptions of deleting a resource."""
_USER: Final = controller_user("namespace-controller")
"""Who deletes, as admission sees it."""

_GOOD: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    "NamespaceDeletionContentFailure": ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Condition types in their order, with reason and message of status False."""


@dataclass(slots=True)
class NamespaceContent:
    """Result of deleting the objects of a namespace."""

    remaining: Counter[str] = field(default_factory=Counter)
    """Number of remaining objects by resource."""
    finalizers: Counter[str] = field(default_factory=Counter)
    """Number of remaining objects by finalizer."""
    failures: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Report whether no object is left."""
        return not self.remaining and not self.failures

    async def delete(self, scope: Scope, namespace: str) -> None:
        """Delete all objects of a resource, and record failures and remaining objects."""
        context = RequestContext(namespace=namespace)
        deletion = DeleteQuery(propagation_policy="Background")
        admitter = Admitter(scope, WriteCall(_USER, namespace, "", "", deletion), "")
        options = registry_options(deletion, admitter.validation(AdmissionOperation.DELETE), whole=admitter.reads_deleted())
        try:
            await scope.rest.delete_collection(context, options, ListOptions())
            remaining = (await scope.rest.list(context, ListOptions())).items
        except FAILURES as error:
            self.failures.append(str(error))
            return
        if remaining:
            self._count(scope, namespace, remaining)

    def _count(self, scope: Scope, namespace: str, remaining: Iterable[Item]) -> None:
        finalizers: Counter[str] = Counter()
        resource = scope.resource
        for item in remaining:
            self.remaining[f"{resource.resource}.{resource.group}"] += 1
            finalizers.update((item.object().get("metadata") or {}).get("finalizers") or ())
        if not finalizers:
            gvr = f"{resource.group}/{resource.version}, Resource={resource.resource}"
            self.failures.append(f"unexpected items still remain in namespace: {namespace} for gvr: {gvr}")
        self.finalizers += finalizers

    def conditions(self, existing: Iterable[Object]) -> list[Object]:
        """Return the namespace's new conditions. Unchanged conditions are the same objects as the existing ones."""
        conditions = list(existing)
        positions: dict[str, int] = {}
        for position, condition in enumerate(conditions):
            # If two conditions have one type, the first counts.
            positions.setdefault(condition["type"], position)
        bad = self._bad()
        for name, good in _GOOD.items():
            reason, message = bad.get(name, good)
            new = {"status": "True" if name in bad else "False", "reason": reason, "message": message}
            position = positions.get(name, len(conditions))
            old = conditions[position] if name in positions else {}
            if any(old.get(key) != text for key, text in new.items()):
                since = old["lastTransitionTime"] if old.get("status") == new["status"] else time.now()
                conditions[position : position + 1] = [{"type": name, **new, "lastTransitionTime": since}]
        return conditions

    def _bad(self) -> dict[str, tuple[str, str]]:
        """Return reason and message of each condition with status True."""
        bad: dict[str, tuple[str, str]] = {}
        if self.failures:
            texts = ", ".join(sorted(self.failures))
            message = f"Failed to delete all resource types, {len(self.failures)} remaining: {texts}"
            bad["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
        if self.remaining:
            texts = _sorted(f"{name} has {count} resource instances" for name, count in self.remaining.items())
            bad["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {texts}")
        if self.finalizers:
            texts = _sorted(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            message = f"Some content in the namespace has finalizers remaining: {texts}"
            bad["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
        return bad


def _sorted(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))
