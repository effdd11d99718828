"""Walks one definition through a transition: takes the steps, and checks all objects after each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.lab.plan import stages
from apiext.lab.plan.plan import Need, Safety, StepKind
from apiext.lab.replay.label_writes import LabelWrites, rounds_of
from apiext.lab.replay.observations import Observations
from apiext.lab.replay.outcome import DefinitionReplay, ProblemKind
from apiext.lab.replay.repeated_applies import MAX_OBJECTS, RepeatedApplies
from apiext.lab.replay.server_client import RefusedError, for_each
from apiext.lab.replay.step_taker import StepTaker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from apiext.definitions.definition import Definition
    from apiext.lab.judgement.outcome import ObjectFinding, ObjectsReport
    from apiext.lab.plan.options import OnProgress
    from apiext.lab.plan.plan import DefinitionPlan, PlanStep, WayBack
    from apiext.lab.replay.known_reads import KnownReads
    from apiext.lab.replay.outcome import ReleaseChange
    from apiext.lab.replay.server_client import ServerClient
    from apiext.lab.replay.server_rules import ServerRules
    from apiext.meta.encoding.json_codec import Object

_GETS: Final = 200
"""Objects that are read one by one in each version; the lists have all."""


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
