"""Differences between the results of two runs."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from hack.lib.suites.ginkgo_report import Key, Results

_LONGEST: Final = 600
"""Characters of a message that are shown."""
_GENERATED: Final = re.compile(r"\btest-[a-z0-9]{5}\b")
_OBJECT: Final = re.compile(r'^Expected\s+<\*errors\.StatusError|"[^"]*" is invalid: ')


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
    same, every = equal_errors(reference, ours)
    yield f"{same} of {every} errors that both show are equal"
    yield f"{len(different)} differences"


def equal_errors(reference: Results, ours: Results) -> tuple[int, int]:
    """Return how many errors of ours the reference has, too, of those about objects of failed cases of both."""
    pairs = [
        (_plain(message), [_plain(_error(found)) for found in ours.messages.get(key, ())])
        for key, messages in reference.messages.items()
        for message in messages
        if _OBJECT.search(message)
    ]
    return sum(any(found in message for found in errors) for message, errors in pairs), len(pairs)


def _error(message: str) -> str:
    """Return the server's error in a message of `apiext test`."""
    _, mark, found = message.rpartition("\n+ ")
    return found if mark else message.partition(": ")[2]


def _plain(text: str) -> str:
    return " ".join(_GENERATED.sub("NAME", text).split())


def _equal(reference: Counter[str], ours: Counter[str]) -> bool:
    if not reference["not run"]:
        return reference == ours
    # what the reference did not run may have any outcome
    return reference.total() == ours.total() and all(ours[outcome] >= reference[outcome] for outcome in ("passed", "failed"))
