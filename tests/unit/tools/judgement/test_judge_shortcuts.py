"""Work that the judge leaves out: it must not change the judgement."""

from typing import Any

import pytest

from apiext.resources.evaluation.compiled_definition import CompiledDefinition, open_converters
from apiext.resources.evaluation.compiled_version import CompiledVersion
from apiext.tools.judgement import appliers, judge, round_trips
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import ObjectsReport
from tests.support.builders.crds import definition
from tests.support.builders.generated_pairs import generated_pair
from tests.support.builders.seeds import seeded
from tests.support.judged_objects import stored_objects


async def _judged(pair: Any) -> ObjectsReport:
    old, new = definition(pair.crd(pair.old)), definition(pair.crd(pair.new))
    async with open_converters(old, new) as converters:
        found = Judge(old, new, converters=converters)
        await found.add(await stored_objects(old, pair.objects))
        return found.report()


def _all_versions(old: CompiledDefinition, new: CompiledDefinition) -> frozenset[str]:
    return frozenset({*old.names, *new.names})


async def test_shortcuts_do_not_change_the_judgement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the judgement of generated changes with and without shortcuts."""
    pairs = [await generated_pair(f"shortcuts {number}", seeded(f"shortcuts {number}")) for number in range(12)]
    quick = [await _judged(pair) for pair in pairs]
    monkeypatch.setattr(CompiledVersion, "creates_like_updates", False)
    monkeypatch.setattr(round_trips, "is_same_everywhere", lambda *_: False)
    monkeypatch.setattr(judge, "differing_versions", _all_versions)
    monkeypatch.setattr(appliers, "versions_that_merge_differently", _all_versions)

    for pair, report in zip(pairs, quick, strict=True):
        assert report == await _judged(pair), pair.name
