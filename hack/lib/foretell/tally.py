"""Counts comparisons of predictions with answers, and keeps the differences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

_SHOWN: Final = 1500
"""Characters of a prediction or an answer that are printed."""
_OK: Final = range(200, 300)


@dataclass(frozen=True, slots=True)
class WrongPrediction:
    """A prediction that did not come true."""

    kind: str
    text: str
    is_false_safe: bool
    """Whether it foretold no harm where there was some."""

    def __str__(self) -> str:
        return f"{'FALSE SAFE: ' if self.is_false_safe else ''}{self.kind}: {self.text}"


@dataclass(slots=True)
class Tally:
    """The comparisons of one or more pairs."""

    compared: Counter[str] = field(default_factory=Counter)
    """Comparisons by kind."""
    wrong: list[WrongPrediction] = field(default_factory=list)
    findings: Counter[str] = field(default_factory=Counter)
    """What was foretold of objects, by kind: each object of a pair counts once."""

    def compare(self, kind: str, where: str, predicted: Any, answer: Any) -> None:
        """Compare a prediction with an answer."""
        self.compared[kind] += 1
        if predicted != answer:
            text = f"{where}:\n    predicted {_shown(predicted)}\n    answered  {_shown(answer)}"
            self.wrong.append(WrongPrediction(kind, text, _is_false_safe(predicted, answer)))

    def add(self, others: Iterable[Tally]) -> None:
        """Add other tallies."""
        for other in others:
            self.compared += other.compared
            self.wrong += other.wrong
            self.findings += other.findings

    @property
    def share(self) -> float:
        """Return the share of predictions that came true."""
        total = self.compared.total()
        return 1 - len(self.wrong) / total if total else 0.0

    @property
    def false_safe(self) -> list[WrongPrediction]:
        """Return the predictions of no harm where there was some."""
        return [each for each in self.wrong if each.is_false_safe]

    def report(self) -> str:
        """Return all differences, and a table of the kinds of predictions."""
        wrong = Counter(each.kind for each in self.wrong)
        table = [f"{kind:<28} {self.compared[kind]:>7} {wrong[kind]:>9}" for kind in sorted(self.compared)]
        total = f"{self.compared.total()} predictions, {len(self.wrong)} wrong: {self.share:.2%} equal; false safe: {len(self.false_safe)}"
        foretold = "objects: " + ", ".join(f"{count} {kind}" for kind, count in sorted(self.findings.items()))
        return "\n".join([*map(str, self.wrong), f"{'kind':<28} {'compared':>7} {'different':>9}", *table, foretold, total])


def _is_false_safe(predicted: object, answer: object) -> bool:
    """Return whether a success was foretold, and a refusal or a harm was the answer."""
    if predicted is True:
        return answer is not True
    if isinstance(predicted, int) and isinstance(answer, int):
        return predicted in _OK and answer not in _OK
    if isinstance(predicted, dict):
        return not isinstance(answer, dict)
    # sets of harms or reasons, as lists: nothing was foretold
    return predicted == [] and answer != []


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
