"""Finds the steps from one definition to another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from apiext.resources.definitions.composite_definition import refused_changes
from apiext.resources.evaluation.definition_creation import DefinitionRefusedError, have_same_spec, validate_update
from apiext.tools.plan import stages, webhooks
from apiext.tools.plan.plan import Need, PlanStep, StepKind
from apiext.tools.plan.step_chain import StepChain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition


@dataclass(frozen=True, slots=True)
class Mislabelled:
    """Versions that bytes may name, although they do not have its new fields."""

    versions: tuple[str, ...]
    fields: tuple[str, ...]
    """The fields that the bytes have, and these versions no longer."""
    keeper: str
    """A version that keeps the fields: after a migration to it, the webhook converts all bytes. "" if there is none."""


def find_mislabelled(old: Definition, new: Object, stored: Sequence[str]) -> Mislabelled | None:
    """Return the versions whose bytes the webhook of a new definition would misread; None if there are none."""
    spec, wanted = old.object["spec"], new["spec"]
    if stages.has_webhook(spec) or not stages.has_webhook(wanted):
        return None
    before, after = _schemas(spec), _schemas(wanted)
    lost = {name: list(lost_fields(before[name], after[name])) for name in stored if name in before and name in after}
    names = tuple(name for name, fields in lost.items() if fields)
    if not names:
        return None
    shape = before[old.storage_version.name]
    keepers = (name for name in before if name in after and not any((*lost_fields(shape, after[name]), *lost_fields(shape, before[name]))))
    fields = sorted({field for name in names for field in lost[name]})
    return Mislabelled(names, tuple(fields), next(keepers, ""))


def keeping_version(old: Object, new: Object) -> str:
    """Return the version in which objects keep their fields when a spec without a webhook replaces one with it.

    It is the new storage version if no version, or that one, keeps all fields.
    """
    before, after, storage = _schemas(old), _schemas(new), stages.storage_of(new)
    names = [storage, *(name for name in after if name != storage and name in before)]
    return next((name for name in names if not any(lost_fields(before.get(name, {}), after[name]))), storage)


def lost_fields(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the fields of a schema that another one does not have, as `spec.hosts[].name`."""
    if new.get("x-kubernetes-preserve-unknown-fields"):
        return
    for name, child in (old.get("properties") or {}).items():
        place = f"{path}.{name}" if path else name
        known = (new.get("properties") or {}).get(name, new.get("additionalProperties"))
        if isinstance(known, dict):
            yield from lost_fields(child, known, place)
        elif not known:
            yield place
    for member in ("items", "additionalProperties"):
        inner, other = old.get(member), new.get(member)
        if isinstance(inner, dict) and isinstance(other, dict):
            yield from lost_fields(inner, other, f"{path}[]")


def _schemas(spec: Object) -> dict[str, Mapping[str, Any]]:
    return {version["name"]: (version.get("schema") or {}).get("openAPIV3Schema") or {} for version in spec["versions"]}


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """What is known of the stored bytes of a definition's objects."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Objects by version."""
    is_exact: bool = False
    unreadable: int = 0
    stale_managers: Sequence[str] = ()
    """Versions that managedFields name, and the new definition lacks."""

    def is_empty(self, version: str) -> bool:
        """Report whether surely no object is stored in a version."""
        return self.is_exact and not self.counts.get(version) and not self.unreadable


@dataclass(frozen=True, slots=True)
class FoundSteps:
    """The steps, and the definitions on the way."""

    steps: tuple[PlanStep, ...]
    refusals: tuple[str, ...]
    """Why the server refuses the update without the other steps."""
    breaks: tuple[str, ...]
    """Why no steps lead to the new definition, or not without harm."""
    cautions: tuple[str, ...]
    bridge: Definition | None
    """The definition with all versions of both, in which objects are migrated; None if none is needed."""
    relabelled: tuple[tuple[str, ...], str]
    """Versions whose bytes are rewritten as another one before the release, and that one; "" if there are none."""
    after: Definition | None
    """The definition after the required steps; None if it cannot be reached."""
    stored_finally: tuple[str, ...]
    """status.storedVersions after all steps."""


def find_steps(old: Definition | None, new: Definition | Object, facts: StoredFacts, *, is_rollback: bool = False) -> FoundSteps:
    """Return the steps from the old definition to the new one.

    Args:
        old: the definition that is there, with status.storedVersions.
        new: the definition that replaces it; in canonical form if a server refuses to create it.
        facts: what is known of the stored objects.
        is_rollback: whether the new definition is that of the release before; nothing is deprecated on the way back.
    """
    wanted: Object = new if isinstance(new, dict) else new.object
    if old is None:
        chain = StepChain(None)
        if not isinstance(new, dict):
            chain.create(new)
        cautions = webhooks.cautions(None, wanted["spec"], _annotations(wanted), [])
        return FoundSteps(tuple(chain.steps), (), (), tuple(cautions), None, ((), ""), chain.current, tuple(chain.stored))
    return _Search(old, new, wanted, facts, is_rollback=is_rollback).run()


class _Search:
    """The search for the steps of one definition."""

    def __init__(self, old: Definition, new: Definition | Object, wanted: Object, facts: StoredFacts, *, is_rollback: bool) -> None:
        self.is_rollback = is_rollback
        self.old, self.new, self.wanted, self.facts = old, new, wanted, facts
        self.before: Object = old.object["spec"]
        self.after: Object = wanted["spec"]
        self.chain = StepChain(old)
        self.bridge: Definition | None = None
        self.relabelled: tuple[tuple[str, ...], str] = ((), "")
        self.breaks: list[str] = []
        kept = stages.names_of(self.after)
        self.dropped = [name for name in stages.names_of(self.before) if name not in kept]

    def run(self) -> FoundSteps:
        """Find the steps."""
        refusals = tuple(validate_update(self.old, self.new))
        if problems := refused_changes(self.old.object, self.wanted):
            return FoundSteps((), refusals, tuple(problems), (), None, ((), ""), None, tuple(self.chain.stored))
        chain, finally_stored = self.chain, tuple(self.chain.stored)
        reached: Definition | None = None
        cautions: list[str] = []
        try:
            self._relabel()
            reason = webhooks.deployment_reason(self.before, self.after)
            if reason:
                chain.deploy_webhook(self.after, reason)
            self._leave_versions()
            self._stop_serving()
            self._clear_managers()
            cautions = webhooks.cautions(self.before, self.after, _annotations(self.wanted), chain.stored)
            self._apply()
            reached = chain.current
            if not self.is_rollback:
                self._finish()
            finally_stored = tuple(chain.stored)
        except DefinitionRefusedError as error:
            self.breaks += [f"kube-apiserver refuses the update: {reason}" for reason in error.reasons]
            chain.steps.clear()
        return FoundSteps(
            tuple(chain.steps), refusals, tuple(self.breaks), tuple(cautions), self.bridge, self.relabelled, reached, finally_stored
        )

    def _relabel(self) -> None:
        """Rewrite bytes in a version whose fields they have, before a webhook converts."""
        stored = [name for name in self.chain.stored if not self.facts.is_empty(name)]
        found = find_mislabelled(self.old, self.wanted, stored)
        if found is None:
            return
        names, fields = ", ".join(found.versions), _some(found.fields)
        if not found.keeper:
            self.breaks.append(f"objects stored as {names} lose {fields}: the webhook is not asked for bytes that name {names} already")
            return
        reason = f"objects stored in {names} have {fields}, and the webhook converts them only if they are stored in {found.keeper}"
        self._move(found.keeper, self.chain.spec, reason)
        self._migrate(reason)
        self._prune([found.keeper], f"all objects are stored in {found.keeper}")
        self.relabelled = found.versions, found.keeper

    def _leave_versions(self) -> None:
        """Store no object in a version that the new definition drops, or that only the old webhook converts."""
        spec, wanted, chain = self.before, self.after, self.chain
        blocking = set(chain.stored).difference(stages.names_of(self.wanted["spec"]))
        counted = {name for name, number in self.facts.counts.items() if number}
        blocked = [name for name in self.dropped if name in blocking | counted]
        loses_webhook = stages.has_webhook(spec) and not stages.has_webhook(wanted)
        target = keeping_version(spec, wanted) if loses_webhook else stages.storage_of(wanted)
        others = [name for name in chain.stored if name != target and not self.facts.is_empty(name)]
        if not (blocked or (loses_webhook and others)):
            return
        current = stages.storage_of(chain.spec)
        if current not in self.dropped and not loses_webhook:
            target = current
        which, gone = "former" if self.is_rollback else "new", ", ".join(blocked)
        reason = f"the {which} definition does not have {gone}, so no object may be stored in {'it' if len(blocked) == 1 else 'them'}"
        if not blocked:
            reason = "without the webhook, fields of objects that are stored in other versions are lost"
        if target not in stages.names_of(chain.spec):
            joined = stages.joined(chain.spec, wanted, storage=current)
            added = [name for name in stages.names_of(joined) if name not in stages.names_of(chain.spec)]
            chain.respec(StepKind.ADD, joined, f"Add {', '.join(added)} beside {', '.join(stages.names_of(chain.spec))}", reason)
        self._move(target, chain.spec, reason)
        rest = [name for name in chain.stored if name != target]
        if any(not self.facts.is_empty(name) for name in rest) or any(self.facts.counts.get(name) for name in blocked):
            self._migrate(reason)
            self.bridge = chain.current
        if rest:
            self._prune(
                [target],
                f"kube-apiserver accepts a definition without {gone} only then" if blocked else f"all objects are stored in {target} now",
            )

    def _migrate(self, reason: str, *, need: Need = Need.REQUIRED) -> None:
        if self.facts.unreadable and need is Need.REQUIRED:
            self.chain.repair(self.facts.unreadable)
        self.chain.migrate(reason, need=need)
        self.facts = replace(self.facts, counts={stages.storage_of(self.chain.spec): sum(self.facts.counts.values())}, unreadable=0)

    def _clear_managers(self) -> None:
        """Forget the managers of versions that go away. Before a rollback, any client may have written in a version that is served."""
        named = stages.served_of(self.before) if self.is_rollback else self.facts.stale_managers
        for name in named:
            if name in self.dropped and self.chain.current is not None:
                self.chain.forget_managers(name)

    def _stop_serving(self) -> None:
        """Stop serving what the new definition drops: that can be undone at once."""
        chain = self.chain
        stopped = [name for name in stages.served_of(chain.spec) if name not in stages.served_of(self.after)]
        if not stopped:
            return
        names = ", ".join(stopped)
        marked = [version["name"] for version in chain.spec["versions"] if version.get("deprecated")]
        if any(name not in marked for name in stopped) and not self.is_rollback:
            spec = stages.deprecated(chain.spec, stopped)
            reason = "its clients get a warning; best in a release before this one"
            chain.respec(StepKind.DEPRECATE, spec, f"Mark {names} as deprecated", reason, need=Need.ADVISED)
        gone = [name for name in stopped if name in self.dropped]
        spec = stages.unserved(chain.spec, gone)
        if gone and stages.served_of(spec):
            reason = "clients that still use it get 404 and are noticed, while this can be undone at once"
            chain.respec(StepKind.STOP, spec, f"Stop serving {', '.join(gone)}", reason, need=Need.ADVISED)

    def _apply(self) -> None:
        if have_same_spec(self.before, self.after) and not self.chain.steps:
            return
        which = "former" if self.is_rollback else "new"
        self.chain.update(StepKind.APPLY, self.wanted, f"Apply the {which} definition of {self.old.name}", "")

    def _finish(self) -> None:
        """Leave one stored version, so that a later release can drop the others."""
        chain, target = self.chain, stages.storage_of(self.after)
        rest = [name for name in chain.stored if name != target]
        if not rest:
            return
        names = ", ".join(rest)
        if any(not self.facts.is_empty(name) for name in rest):
            self._migrate(f"a later release can then drop {names}", need=Need.LATER)
        self._prune([target], f"a later release can then drop {names}", need=Need.LATER)

    def _move(self, target: str, spec: Object, reason: str) -> None:
        if stages.storage_of(spec) != target:
            self.chain.respec(StepKind.STORAGE, stages.with_storage(spec, target), f"Make {target} the storage version", reason)

    def _prune(self, stored: Sequence[str], reason: str, *, need: Need = Need.REQUIRED) -> None:
        if self.chain.stored != list(stored):
            self.chain.prune(stored, reason, need=need)


def _annotations(crd: Object) -> Object:
    found: Object = crd["metadata"].get("annotations") or {}
    return found


def _some(fields: Sequence[str], most: int = 3) -> str:
    shown = ", ".join(fields[:most])
    return f"{shown} and {len(fields) - most} other fields" if len(fields) > most else shown
