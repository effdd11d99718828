"""Differences between the results of two runs."""

from collections import Counter
from collections.abc import Iterator

from hack.lib.suites.ginkgo_report import Key, Results

_LONGEST = 600
"""Characters of a message that are shown."""


def differences(reference: Results, ours: Results) -> list[Key]:
    """Return the cases whose outcomes differ. Cases that the reference did not run count as equal."""
    keys = reference.outcomes.keys() | ours.outcomes.keys()
    return sorted(key for key in keys if not _equal(reference.outcomes.get(key, Counter()), ours.outcomes.get(key, Counter())))


def report_lines(reference: Results, ours: Results, different: list[Key]) -> Iterator[str]:
    """Yield the numbers of both runs, and each difference with its messages."""
    for name, results in (("kube-apiserver", reference), ("apiext", ours)):
        total = sum(counts.total() for counts in results.outcomes.values())
        parts = ", ".join(f"{results.count(outcome)} {outcome}" for outcome in ("passed", "failed", "not run") if results.count(outcome))
        yield f"{name}: {total} cases: {parts}"
    for key in different:
        yield f"differs: {' :: '.join(key)}"
        for name, results in (("kube-apiserver", reference), ("apiext", ours)):
            yield f"  {name}: {dict(results.outcomes.get(key, Counter()))}"
            for message in results.messages.get(key, ())[:1]:
                yield f"    {' '.join(message.split())[:_LONGEST]}"
    yield f"{len(different)} differences"


def _equal(reference: Counter[str], ours: Counter[str]) -> bool:
    if not reference["not run"]:
        return reference == ours
    # what the reference did not run may have any outcome
    return reference.total() == ours.total() and all(ours[outcome] >= reference[outcome] for outcome in ("passed", "failed"))
