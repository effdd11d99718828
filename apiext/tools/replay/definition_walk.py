"""Walks one definition through a transition: takes the steps, and checks all objects after each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.plan import stages
from apiext.tools.plan.plan import Need, Safety, StepKind
from apiext.tools.replay.known_reads import LABEL
from apiext.tools.replay.observations import Observations
from apiext.tools.replay.outcome import DefinitionReplay, ProblemKind
from apiext.tools.replay.repeated_applies import MAX_OBJECTS, RepeatedApplies
from apiext.tools.replay.server_client import RefusedError, for_each
from apiext.tools.replay.step_taker import StepTaker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.judgement.outcome import ObjectFinding, ObjectsReport
    from apiext.tools.plan.options import OnProgress
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, WayBack
    from apiext.tools.replay.known_reads import KnownReads
    from apiext.tools.replay.outcome import ReleaseChange
    from apiext.tools.replay.server_client import ServerClient
    from apiext.tools.replay.server_rules import ServerRules

_GETS: Final = 200
"""Objects that are read one by one in each version; the lists have all."""

MAX_WRITES: Final = 5000
"""Updates up to which each object is updated in each served version; above, each object in one of them."""
_INDEX: Final = re.compile(r"\[\d+\]")


def rounds_of(keys: Sequence[str], versions: Sequence[str]) -> list[dict[str, str]]:
    """Return the rounds of updates, each with the version for the keys of its objects."""
    if len(keys) * len(versions) <= MAX_WRITES:
        return [dict.fromkeys(keys, version) for version in versions]
    return [{key: versions[place % len(versions)] for place, key in enumerate(keys)}]


class LabelWrites:
    """Updates of labels in one transition."""

    def __init__(self, server: ServerClient, definition: Definition, observations: Observations) -> None:
        self._server = server
        self._definition = definition
        self._observations = observations
        self._number = 0
        self._refused: dict[str, set[str]] = {}

    async def write(self, targets: dict[str, str], on_object: Callable[[int], None]) -> None:
        """Set the label to a new value on objects, each in the version of its key."""
        self._number += 1
        patch = {"metadata": {"labels": {LABEL: f"r{self._number}"}}}
        problems: list[tuple[str, str, str, str]] = []

        async def update(key: str) -> None:
            version = targets[key]
            try:
                await self._server.patch(self._definition, version, key, patch)
            except RefusedError as error:
                self._refused.setdefault(version, set()).add(key)
                causes = error.causes or [("", str(error).replace(key.rpartition("/")[2], "NAME"))]
                problems.extend((version, _INDEX.sub("[]", path), _INDEX.sub("[]", text), key) for path, text in causes)
            on_object(1)

        await for_each(targets, update)
        for version, path, text, key in sorted(problems):
            self._observations.add(ProblemKind.REFUSED, version, path, f"an update of a label is refused: {text}", key)

    def add_accepted(self, findings: Sequence[ObjectFinding], versions: Sequence[str]) -> None:
        """Add the versions in which fewer updates were refused than the plan says. All objects must have been updated in them."""
        for version in versions:
            counts = [finding.count for finding in findings if finding.kind is FindingKind.STUCK and finding.version == version]
            refused = len(self._refused.get(version, ()))
            if counts and refused < max(counts):
                text = f"{refused} updates of a label are refused, the plan says {max(counts)}"
                self._observations.add(ProblemKind.ACCEPTED, version, "", text)


class DefinitionWalk:
    """The way of one definition and its objects."""

    def __init__(
        self, server: ServerClient, name: str, reads: KnownReads, keys: Sequence[str], on_progress: OnProgress, rules: ServerRules
    ) -> None:
        self._server = server
        self._name = name
        self._reads = reads
        self._keys = keys
        self._on_progress = on_progress
        self._rules = rules
        self._steps = StepTaker(server, name, len(keys))
        self._observations = Observations()
        self._earlier: list[ObjectFinding] = []
        self._known: list[ObjectFinding] = []
        self._is_stopped = False

    async def begin(
        self, transition: ReleaseChange, conversion: Object | None, foresee: Callable[[], Awaitable[Sequence[ObjectFinding]]]
    ) -> None:
        """Read all objects for the first time, by the rules of a Conversion. `foresee` returns what happens to them without a release."""
        await self._rules.put(self._name, conversion)
        known = await foresee()
        self._known += known
        await self._read("recording", await self._server.definition(self._name))
        problems = self._observations.problems((), (), known)
        if problems:
            replayed = DefinitionReplay(self._name, Safety.SAFE, len(self._keys), problems=problems)
            transition.definitions.append(replayed)

    async def prepare(self, wanted: Object) -> None:
        """Remove the traces of the replay's own updates in versions that a definition drops."""
        kept = stages.names_of(wanted["spec"])
        definition = await self._server.definition(self._name)
        await self._steps.forget_own([version.name for version in definition.versions if version.name not in kept])

    async def forward(
        self, plan: DefinitionPlan, wanted: Object, transition: ReleaseChange, conversion: Object | None, *, takes_later: bool
    ) -> None:
        """Take the steps of a plan. `wanted` is the new definition, with the rules of a Conversion."""
        if self._is_stopped or not (plan.steps or plan.breaks or not self._rules.has(self._name, conversion)):
            return
        replayed = DefinitionReplay(self._name, plan.verdict, len(self._keys))
        steps = [step for step in plan.steps if takes_later or step.need is not Need.LATER]
        if steps:
            await self._refusal(plan, wanted)
        elif plan.breaks:
            replayed.not_proved.append("no steps lead to it")
        await self._take(steps, replayed, plan.objects, conversion)
        transition.definitions.append(replayed)

    async def back(self, way: WayBack, transition: ReleaseChange, conversion: Object | None) -> None:
        """Take the steps of a rollback, to the rules of a Conversion."""
        if self._is_stopped or not (way.steps or not self._rules.has(self._name, conversion)):
            return
        replayed = DefinitionReplay(self._name, way.verdict, len(self._keys))
        await self._take(way.steps, replayed, way.objects, conversion, known=[*self._known, *self._earlier])
        transition.definitions.append(replayed)

    async def _refusal(self, plan: DefinitionPlan, wanted: Object) -> None:
        """Check that the server refuses the definition without the steps exactly if the plan says so."""
        refusal = await self._steps.refusal(wanted)
        if bool(refusal) != bool(plan.refusals):
            said = f"the plan says: {plan.refusals[0]}" if plan.refusals else f"the plan does not say so: {refusal}"
            self._observe(f"without the steps, the server {'refuses' if refusal else 'accepts'} the definition; {said}")

    async def _take(
        self,
        steps: Sequence[PlanStep],
        replayed: DefinitionReplay,
        foreseen: ObjectsReport | None,
        conversion: Object | None,
        *,
        known: Sequence[ObjectFinding] = (),
    ) -> None:
        """Take steps and check the objects after each. Rules come with the step after which the definition has their versions."""
        findings = foreseen.findings if foreseen is not None else ()
        before = await self._server.definition(self._name)
        applies = RepeatedApplies(before, self._reads, len(self._keys))
        for number, step in enumerate(steps, 1):
            self._on_progress(f"{self._name}: {step.title}", 0, None)
            if conversion is not None and _fits(conversion, step):
                await self._rules.put(self._name, conversion)
            taken = await self._steps.take(step)
            replayed.steps.append(taken)
            definition = await self._server.definition(self._name)
            await self._read(f"after step {number}", definition)
            if taken.problem:
                self._observe(f"step {number} ({step.title}): {taken.problem}")
                self._is_stopped = True
                break
        is_changed = bool(steps) or not self._rules.has(self._name, conversion)
        if not self._is_stopped:
            await self._rules.put(self._name, conversion)
        definition = await self._server.definition(self._name)
        if not self._is_stopped and is_changed:
            await self._check(definition, findings, applies, replayed)
        replayed.not_proved += [f"{part.what}: {part.reason}" for part in (foreseen.not_judged if foreseen is not None else ())]
        replayed.problems = self._observations.problems(findings, self._earlier, known)
        self._observations = Observations()
        self._earlier += findings

    async def _check(
        self, definition: Definition, findings: Sequence[ObjectFinding], applies: RepeatedApplies, replayed: DefinitionReplay
    ) -> None:
        """Check the objects at the end of a transition: gets, dropped versions, updates and applies."""
        await self._droppable(definition)
        versions = [version.name for version in definition.served_versions]
        await self._get(definition, versions)
        await applies.repeat(self._server, definition, self._reads, self._observations)
        if applies.is_partial:
            replayed.not_proved.append(f"repeated applies of more than about {MAX_OBJECTS} objects")
        writes = LabelWrites(self._server, definition, self._observations)
        rounds = rounds_of(self._keys, versions)
        for targets in rounds:
            await writes.write(targets, self._counter(f"update {self._name}"))
            await self._read("after updates", definition, targets)
        if len(rounds) == len(versions):
            writes.add_accepted(findings, versions)
        else:
            replayed.not_proved.append("updates of each object in each version: each is updated in one of them")

    async def _droppable(self, definition: Definition) -> None:
        """Check that exactly the versions can be dropped that status.storedVersions does not have."""
        stored = definition.head["status"]["storedVersions"] or ()
        for version in definition.versions:
            if version.storage:
                continue
            refusal = await self._steps.keeping(version.name)
            if refusal and version.name not in stored:
                self._observe(f"{version.name} cannot be dropped: {refusal}")
            elif not refusal and version.name in stored:
                self._observe(f"{version.name} can be dropped, although objects may be stored in it")

    async def _get(self, definition: Definition, versions: Sequence[str]) -> None:
        """Get some objects one by one in each version."""
        chosen = self._keys[:: max(1, len(self._keys) // _GETS)]
        for version in versions:
            failed: list[tuple[str, str]] = []

            async def get(key: str, version: str = version, failed: list[tuple[str, str]] = failed) -> None:
                try:
                    await self._server.get(definition, version, key)
                except RefusedError as error:
                    failed.append((key, str(error).replace(key.rpartition("/")[2], "NAME")))

            await for_each(chosen, get)
            for key, message in sorted(failed):
                self._observations.add(ProblemKind.UNREADABLE, version, "", f"a read fails: {message}", key)

    async def _read(self, when: str, definition: Definition, targets: dict[str, str] | None = None) -> None:
        written = (lambda _: "") if targets is None else (lambda key: targets.get(key, ""))
        await self._reads.check(definition, self._observations, self._counter(f"{self._name}: read {when}"), written=written)

    def _counter(self, text: str) -> Callable[[int], None]:
        """Return a function that shows how many more objects are done."""
        done = 0

        def count(number: int) -> None:
            nonlocal done
            done += number
            self._on_progress(text, done, None)

        return count

    def _observe(self, text: str) -> None:
        self._observations.add(ProblemKind.STEP, "", "", text)


def _fits(conversion: Object, step: PlanStep) -> bool:
    """Return whether the definition has the versions of the rules after a step."""
    if step.kind is StepKind.APPLY:
        return True
    versions = ((step.manifest or {}).get("spec") or {}).get("versions") or ()
    spec = conversion.get("spec") or {}
    return {one["name"] for one in versions} == {spec.get("hub"), *(spoke.get("version") for spoke in spec.get("spokes") or ())}
