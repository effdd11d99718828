"""Conversions of many generated objects without servers."""

from typing import Final

from apiext.resources.authoring.laws import Laws
from apiext.resources.authoring.trials import PairTrial
from apiext.resources.authoring.tried_rules import TriedRules
from apiext.resources.conversion.rules.check.choices import RandomChoices

_ATTEMPTS: Final = 20
"""Attempts to make one valid object."""


def convert_samples(rules: TriedRules, trial: PairTrial, objects: int, seed: int) -> None:
    """Convert generated objects of the source version there and back, with and without a change in between, and count them in the trial.

    Raises:
        BrokenLawError: an object loses what the rules do not declare, or cannot be converted.
        AssertionError: no valid object was found.
    """
    laws, samples, choices = Laws(rules, trial.source, trial.target), rules.samples(trial.source), RandomChoices(seed)
    laws.counts = trial.counts
    for number in range(objects):
        made = (samples.make(choices) for _ in range(_ATTEMPTS))
        obj = next((found for found in made if found is not None), None)
        assert obj is not None, f"{trial.name}: no valid object of {trial.source} found"
        laws.check(obj, number)
