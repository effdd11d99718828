"""Trials of Conversion objects: all pairs of versions, on generated and given objects."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import yaml

from apiext.base.texts import counted
from apiext.resources.authoring.laws import BrokenLaw, BrokenLawError, Laws, TrialCounts
from apiext.resources.conversion.rules.check.choices import RandomChoices
from apiext.resources.conversion.rules.check.sample_trials import object_text, smallest

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.authoring.tried_rules import TriedRules

_CHANGES: Final = 3
"""Fields of a given object that are changed, one at a time."""

_WIDTH = 120
_REASONS: Final = 5
"""Reasons why objects become invalid that are shown for each pair of versions."""


def yaml_text(value: Any) -> str:
    """Return a value as YAML with sorted names."""
    text: str = yaml.safe_dump(value, allow_unicode=True, width=_WIDTH)
    return text


def object_diff(expected: Any, actual: Any) -> Iterator[str]:
    """Yield the lines of a unified diff of two objects."""
    lines = difflib.unified_diff(yaml_text(expected).splitlines(), yaml_text(actual).splitlines(), "expected", "actual", n=3, lineterm="")
    yield from lines


@dataclass(slots=True)
class PairTrial:
    """What was found between two versions, in one direction and back."""

    name: str
    """The CRD's."""
    source: str
    target: str
    counts: TrialCounts
    invalid: Counter[str] = field(default_factory=Counter)
    """Reasons why valid objects are invalid after their conversion, by the number of objects."""
    examples: dict[str, Object] = field(default_factory=dict)
    """A valid object for each of these reasons."""
    broken: BrokenLaw | None = None
    """The counterexample."""

    def count_invalid(self, obj: Object, errors: Sequence[str]) -> None:
        """Count the reasons of one object."""
        self.invalid.update(set(errors))
        for error in errors:
            self.examples.setdefault(error, obj)

    @property
    def shown(self) -> list[tuple[str, int]]:
        """Return the most frequent reasons with their numbers."""
        return self.invalid.most_common(_REASONS)

    def shrink_examples(self, laws: Laws) -> None:
        """Make the examples of the most frequent reasons as small as possible."""
        for error, _ in self.shown:
            self.examples[error] = smallest(self.examples[error], partial(_is_example, laws, error))

    def as_document(self) -> Object:
        """Return the result for -o json."""
        return {
            "name": self.name,
            "source": self.source,
            "target": self.target,
            "objects": self.counts.objects,
            "changes": self.counts.changes,
            "carrying": self.counts.carrying,
            "mostCarriedBytes": self.counts.most_carried,
            "invalid": [
                {"message": message, "objects": count, "example": self.examples[message]} for message, count in self.invalid.most_common()
            ],
            "counterexample": None if self.broken is None else _broken_document(self.broken),
        }


def _is_example(laws: Laws, error: str, obj: Object) -> bool:
    try:
        return laws.becomes_invalid(obj, error)
    except BrokenLawError:
        return False


def _broken_document(broken: BrokenLaw) -> Object:
    found: Object = {"law": broken.law, "way": [*broken.way], "object": broken.object}
    if broken.change:
        found["change"] = broken.change
    return found | ({"error": broken.error} if broken.error else {"expected": broken.expected, "actual": broken.actual})


def pairs_of(rules: TriedRules) -> Iterator[PairTrial]:
    """Yield a trial for each pair of versions in both directions."""
    for source in rules.schemas:
        for target in rules.schemas:
            if source != target:
                yield PairTrial(rules.rules.name, source, target, TrialCounts())


def try_pair(rules: TriedRules, trial: PairTrial, *, examples: int, seed: int) -> None:
    """Try generated objects of one pair of versions until one breaks a law."""
    # an optional library
    from apiext.resources.authoring.generated_trials import try_generated

    laws = Laws(rules, trial.source, trial.target)
    laws.counts = trial.counts
    samples = rules.samples(trial.source)
    trial.broken = try_generated(laws, samples, examples=examples, seed=seed, on_invalid=trial.count_invalid)
    trial.shrink_examples(laws)


async def try_given(rules: TriedRules, objects: AsyncIterable[Object], trials: Sequence[PairTrial], seed: int) -> None:
    """Try objects from their versions to all others, until one breaks a law."""
    choices = RandomChoices(seed)
    async for obj in objects:
        version = str(obj.get("apiVersion", "")).rpartition("/")[2]
        for trial in trials:
            if trial.source == version and trial.broken is None:
                _try_one(rules, trial, obj, [choices.integer(0, 999) for _ in range(_CHANGES)])


def _try_one(rules: TriedRules, trial: PairTrial, obj: Object, changes: Sequence[int]) -> None:
    laws = Laws(rules, trial.source, trial.target)
    decoded = rules.decoded(obj)
    try:
        errors = [laws.check(decoded, change) for change in changes]
    except BrokenLawError as error:
        trial.broken = error.broken
    else:
        trial.count_invalid(decoded, errors[0])
    trial.counts.objects += 1
    trial.counts.changes += laws.counts.changes
    trial.counts.carrying += bool(laws.counts.carrying)
    trial.counts.most_carried = max(trial.counts.most_carried, laws.counts.most_carried)


def trial_lines(trial: PairTrial) -> Iterator[str]:
    """Yield the lines of a report."""
    counts, way = trial.counts, f"{trial.name}: {trial.source} -> {trial.target} -> {trial.source}"
    if trial.broken is None:
        carried = f", {counts.carrying} carried up to {counts.most_carried} bytes" if counts.carrying else ""
        verdict = "nothing is lost" if counts.objects else "no valid objects were found"
        yield f"{way}: {verdict} ({counted(counts.objects, 'object')}, {counted(counts.changes, 'change')} in between{carried})"
    else:
        yield from _broken_lines(way, trial.broken)
    for message, count in trial.shown:
        verb = "is" if count == 1 else "are"
        yield f"  warning: {counted(count, 'object')} {verb} valid in {trial.source} and invalid in {trial.target}: {message}"
        yield f"    for example {object_text(trial.examples[message])}"


def _broken_lines(way: str, broken: BrokenLaw) -> Iterator[str]:
    yield f"{way}: BROKEN: {broken.law}"
    yield f"  on the way {' -> '.join(broken.way)}"
    if broken.change:
        yield f"  changed in between: {broken.change}"
    if broken.error:
        yield f"  error: {broken.error}"
    yield "  object:"
    yield from (f"    {line}" for line in yaml_text(broken.object).splitlines())
    if not broken.error:
        yield "  difference:"
        yield from (f"    {line}" for line in object_diff(broken.expected, broken.actual))
