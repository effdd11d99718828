"""The steps of one definition, each taken on a copy of it by the server's own code."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.definitions.composite_definition import XRDS, composite_owner
from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.definition_creation import DefinitionRefusedError, parse_definition, update_definition
from apiext.tools.plan import stages, webhooks
from apiext.tools.plan.plan import Need, PlanStep, StepKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object

STATE_PATH: Final = "{range .spec.versions[*]}{.name}={.served}/{.storage} {end}{.spec.conversion.strategy}"
"""The JSONPath that prints what `stages.state_of` returns."""
STORED_PATH: Final = "{.status.storedVersions[*]}"
_LABELS: Final = ("labels", "annotations")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class StepChain:
    """Steps on the way from a definition to another one.

    Raises:
        DefinitionRefusedError: from `update`, if the server refuses the step.
    """

    def __init__(self, existing: Definition | None) -> None:
        self.current = existing
        self.steps: list[PlanStep] = []

    @property
    def spec(self) -> Object:
        """Return the spec of the definition after the steps so far."""
        return _whole(self.current)["spec"] if self.current is not None else {"versions": [], "conversion": {"strategy": "None"}}

    @property
    def stored(self) -> list[str]:
        """Return its status.storedVersions."""
        return list(self.current.head["status"]["storedVersions"] or ()) if self.current is not None else []

    def update(self, kind: StepKind, wanted: Object, title: str, reason: str, *, need: Need = Need.REQUIRED) -> None:
        """Apply a definition; `wanted` has its metadata and its spec."""
        before = self.current
        if before is None:
            raise DefinitionRefusedError(["there is no definition to update"])
        after = update_definition(before, wanted)
        name = before.name
        manifest = manifest_of(wanted if kind is StepKind.APPLY else {"metadata": {"name": name}, "spec": wanted["spec"]}, before)
        self.current = after
        owner = composite_owner(wanted["metadata"])
        is_taken_over = owner != composite_owner(before.head["metadata"])
        state = stages.state_of(_whole(after)["spec"])
        self._add(
            kind,
            need,
            f"Apply the XRD {owner}, which takes over {name}" if is_taken_over else title,
            reason,
            () if is_taken_over else (f"kubectl patch {kubectl_target(wanted)} --type=merge --patch-file FILE",),
            check=state_check(name, state),
            check_text=f"the versions (served/storage) and the conversion of {name} are: {state}",
            manifest=manifest,
            owner=owner,
        )

    def create(self, new: Definition) -> None:
        """Create a definition that does not exist."""
        self.current = new
        owner = composite_owner(new.head["metadata"])
        self._add(
            StepKind.APPLY,
            Need.REQUIRED,
            f"Apply the XRD {owner}, of which Crossplane makes {new.name}" if owner else f"Create {new.name}",
            "it does not exist yet",
            () if owner else ("kubectl create -f FILE",),
            check=f"kubectl wait --for=condition=Established --timeout=60s crd/{new.name}",
            check_text=f"{new.name} is Established",
            manifest=manifest_of(_whole(new), None),
            owner=owner,
        )

    def respec(self, kind: StepKind, spec: Object, title: str, reason: str, *, need: Need = Need.REQUIRED) -> None:
        """Apply the current definition with another spec."""
        self.update(kind, _whole(self.current) | {"spec": spec}, title, reason, need=need)

    def deploy_webhook(self, spec: Object, reason: str) -> None:
        """Wait for the webhook of a spec."""
        target = webhooks.target_of(spec)
        self._add(
            StepKind.WEBHOOK,
            Need.REQUIRED,
            f"Deploy the conversion webhook at {target}",
            reason,
            (),
            check=webhooks.check_of(spec),
            check_text=f"{target} has a ready endpoint" if target.startswith("Service") else f"{target} answers",
        )

    def migrate(self, reason: str, *, need: Need = Need.REQUIRED) -> None:
        """Store all objects in the storage version."""
        if self.current is None:
            return
        self._add(
            StepKind.MIGRATE,
            need,
            f"Store all objects in {self.current.storage_version.name}",
            reason,
            (f"kubectl get {self._resource()} -o json | kubectl replace -f -",),
            check="",
            check_text="every object is replaced without an error, or the StorageVersionMigration is Succeeded",
            manifest=_migration(self.current),
            resource=self._resource(),
        )

    def prune(self, stored: Sequence[str], reason: str, *, need: Need = Need.REQUIRED) -> None:
        """Write status.storedVersions."""
        before = self.current
        if before is None:
            return
        gone = [name for name in self.stored if name not in stored]
        self.current = parse_definition(_whole(before) | {"status": before.head["status"] | {"storedVersions": list(stored)}})
        patch = json_codec.dumps({"status": {"storedVersions": list(stored)}}).decode()
        self._add(
            StepKind.PRUNE,
            need,
            f"Remove {', '.join(gone)} from status.storedVersions",
            reason,
            (f"kubectl patch crd {before.name} --subresource=status --type=merge -p {shlex.quote(patch)}",),
            check=f"test \"$(kubectl get crd {before.name} -o jsonpath='{STORED_PATH}')\" = {shlex.quote(' '.join(stored))}",
            check_text=f"status.storedVersions is {', '.join(stored)}",
        )

    def repair(self, count: int) -> None:
        """Make all objects readable."""
        name = self.current.name if self.current is not None else ""
        self._add(
            StepKind.REPAIR,
            Need.REQUIRED,
            f"Repair or delete the objects that cannot be read ({count})",
            "the next step cannot rewrite them",
            (f"apiext rescue list {name}",),
            check="",
            check_text="the list is empty",
        )

    def forget_managers(self, version: str) -> None:
        """Remove a version from the managedFields of all objects."""
        if self.current is None:
            return
        resource, label = self._resource(), f"{self.current.group}/{version}"
        kept = f'.items[].metadata.managedFields |= (map(select(.apiVersion != "{label}")) | if . == [] then [{{}}] else . end)'
        path = f'{{.items[*].metadata.managedFields[?(@.apiVersion=="{label}")].manager}}'
        self._add(
            StepKind.REAPPLY,
            Need.REQUIRED,
            f"Apply all manifests in another version than {version}, then remove {version} from metadata.managedFields of the objects",
            f"server-side apply fails for an object whose managedFields name {version} once {version} is gone",
            (f"kubectl get {resource} --show-managed-fields -o json | jq '{kept}' | kubectl replace -f -",),
            check=f"test -z \"$(kubectl get {resource} --show-managed-fields -o jsonpath='{path}')\"",
            check_text=f"no manager names {version}",
            resource=resource,
            api_version=label,
        )

    def _resource(self) -> str:
        """Return the arguments of kubectl that name all objects in a served version, the storage version if that is served."""
        if self.current is None:
            return ""
        definition, target = self.current, self.current.storage_version.name
        served = [version.name for version in definition.served_versions]
        version = target if target in served else next(iter(served), target)
        return f"{definition.names.plural}.{version}.{definition.group}{' -A' if definition.namespaced else ''}"

    def _add(
        self, kind: StepKind, need: Need, title: str, reason: str, commands: tuple[str, ...], *, check: str, check_text: str, **more: Any
    ) -> None:
        """Add a step after which the definition is the current one; `more` are other fields of it."""
        state = stages.state_of(self.spec) if self.current is not None else ""
        self.steps.append(PlanStep(kind, need, title, reason, commands, check, check_text, state, tuple(self.stored), **more))


def kubectl_target(crd: Object) -> str:
    """Return the arguments of kubectl that name what a person changes: a definition, or the XRD of which Crossplane makes it."""
    owner = composite_owner(crd["metadata"])
    return f"{XRDS} {owner}" if owner else f"crd {crd['metadata']['name']}"


def state_check(name: str, state: str) -> str:
    """Return a shell command that succeeds if a definition has a state."""
    return f"test \"$(kubectl get crd {name} -o jsonpath='{STATE_PATH}')\" = {shlex.quote(state)}"


def manifest_of(wanted: Object, before: Definition | None) -> Object:
    """Return a definition as a client writes it. Members that only the definition before has are null: a merge patch removes them."""
    metadata: Object = {"name": wanted["metadata"]["name"]}
    for member in _LABELS:
        kept = {key: text for key, text in (wanted["metadata"].get(member) or {}).items() if key != _LAST_APPLIED}
        if kept:
            metadata[member] = kept
    spec = dict(wanted["spec"])
    if before is not None:
        for member, old in before.head["spec"].items():
            if isinstance(old, dict) and isinstance(spec.get(member), dict):
                spec[member] = spec[member] | {key: None for key in old if key not in spec[member]}
            elif member not in spec:
                spec[member] = None
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}


def _whole(definition: Definition | None) -> Any:
    return definition.object if definition is not None else {}


def _migration(definition: Definition) -> Object:
    group, plural = definition.group, definition.names.plural
    return {
        "apiVersion": "storagemigration.k8s.io/v1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"resource": {"group": group, "resource": plural}},
    }
