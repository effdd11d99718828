"""The judgement of objects by pairs of definitions."""

from typing import Any

import pytest

from apiext.lab.judgement.converters import open_converters
from apiext.lab.judgement.judge import Judge
from apiext.lab.judgement.outcome import ObjectsReport
from tests.support.builders.crds import definition
from tests.support.builders.definition_pairs import PAIRS, DefinitionPair
from tests.support.judged_objects import stored_objects

Json = dict[str, Any]


async def judged(pair: DefinitionPair) -> ObjectsReport:
    """Return the judgement of a pair."""
    old, new = definition(pair.crd(pair.old)), definition(pair.crd(pair.new))
    objects = await stored_objects(old, pair.objects)
    async with open_converters(old, new) as converters:
        judge = Judge(old, new, converters=converters)
        await judge.add(objects)
        return judge.report()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
async def test_each_change_has_its_findings(pair: DefinitionPair) -> None:
    """Find in each pair exactly what its table row says."""
    report = await judged(pair)

    assert set(pair.found) == {(finding.kind, finding.version, finding.path) for finding in report.findings}
