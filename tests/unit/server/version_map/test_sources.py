"""The facts about definitions."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.api.admission.sources import AdmissionPhase, HookEntry, RequestPlace
from apiext.resources.conversion.factory import ConverterFactory
from apiext.server.version_map import sources
from apiext.server.version_map.sources import FactFinder, MapSources
from tests.support.builders.crds import definition, widget_crd


class _Unlisted(ConfigurationIndex):
    """Configurations of a host that does not answer."""

    asked = 0

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        self.asked += 1
        return await super().webhooks(phase, place)


async def test_unlisted_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait once after a refresh for configurations that have not been listed, whatever the number of definitions is."""
    monkeypatch.setattr(sources, "PATIENCE_SECONDS", 0.001)
    index, unused = _Unlisted(ready_timeout=30), cast("Any", None)
    finder = FactFinder(MapSources(catalog=unused, cache=unused, converters=ConverterFactory(), workers=unused, configurations=index))
    for refreshes in (1, 2):
        await finder.refresh()
        for _ in range(3):
            assert (await finder.facts(definition(widget_crd()), None)).guards is None
        assert index.asked == refreshes

    for follower in index.followers.values():
        follower.replaced([])
    await finder.refresh()
    assert (await finder.facts(definition(widget_crd()), None)).guards == {}
