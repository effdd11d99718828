"""The plug-ins of webhooks and policies before and after the first configuration, and the calls of writes that start again."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from types import ModuleType
from unittest.mock import Mock

import pytest

from apiext.api.admission.attributes import Attributes
from apiext.api.admission.chain import Chain
from apiext.api.admission.dynamic import DYNAMIC_PLUGINS, MUTATING_WEBHOOK, VALIDATING_WEBHOOK, DynamicAdmission
from apiext.api.admission.metrics import AdmissionStats
from apiext.api.admission.remembered_reviews import RememberedReviews
from apiext.api.admission.sources import (
    ALL_PHASES,
    AdmissionPhase,
    AdmissionSources,
    HookEntry,
    NotReadyError,
    PolicyEntry,
    RequestPlace,
    ReviewAnswer,
    ReviewCall,
    Revision,
)
from apiext.base.meta import errors
from apiext.base.meta.request import AdmissionOperation
from apiext.base.scheduling.inline_work import InlineWork, restarted
from tests.support.event_loop import settle, until
from tests.unit.api.admission.creations import widget

PLACE = RequestPlace("example.com", "widgets", "", AdmissionOperation.CREATE)
HOOK = HookEntry(Revision("u", "1"), "c", "c/h/0", {})


@dataclass
class Configurations:
    """Has a webhook for each phase, or is not ready."""

    guarded: set[AdmissionPhase] = field(default_factory=set)
    ready: bool = True

    def phases(self, _place: RequestPlace) -> Collection[AdmissionPhase]:
        """Return the phases in which there are webhooks, or there may be."""
        return self.guarded if self.ready else ALL_PHASES

    def is_used(self, phase: AdmissionPhase, *, webhooks: bool) -> bool:
        """Return whether there are webhooks of a phase."""
        return webhooks and phase in self.guarded

    async def webhooks(self, phase: AdmissionPhase, _place: RequestPlace) -> Sequence[HookEntry]:
        """Return the webhooks of a phase."""
        if not self.ready:
            raise NotReadyError
        return [HOOK] if phase in self.guarded else []

    async def policies(self, _phase: AdmissionPhase, _place: RequestPlace) -> Sequence[PolicyEntry]:
        """Return no policies."""
        return []


def sources(configurations: Configurations) -> AdmissionSources:
    """Return sources that have only configurations."""
    return AdmissionSources(configurations, Mock(), Mock(), Mock(), Mock(), AdmissionStats())


async def test_admits_writes_that_no_configuration_concerns() -> None:
    """Admit a write without its object being read if no configuration may match it."""
    dynamic = DynamicAdmission(sources(Configurations()), DYNAMIC_PLUGINS)

    for plugin in dynamic.plugins:
        await plugin.admit(widget())
        await plugin.validate(widget())

    assert not dynamic.may_apply(PLACE)


async def test_calls_plugins_only_if_configurations_may_apply() -> None:
    """Admit writes without their attributes where no configuration may match, and count it; not before the configurations are known."""
    configurations = Configurations()
    dynamic = DynamicAdmission(sources(configurations), DYNAMIC_PLUGINS)
    stats = dynamic.sources.stats
    chain = Chain(dynamic.plugins, dynamic, stats)

    assert chain.admits_unseen("admit", PLACE)
    assert {labels: one.count for labels, one in stats.controllers.items() if one.count} == {
        ("MutatingAdmissionPolicy", "admit", "CREATE"): 1,
        ("MutatingAdmissionWebhook", "admit", "CREATE"): 1,
    }
    configurations.guarded.add(AdmissionPhase.MUTATING)
    assert not chain.admits_unseen("admit", PLACE)
    assert chain.admits_unseen("validate", PLACE)
    assert not Chain(dynamic.plugins, DynamicAdmission(sources(Configurations(ready=False)), DYNAMIC_PLUGINS)).admits_unseen("admit", PLACE)


async def test_refuses_writes_before_configurations_are_known() -> None:
    """Refuse writes with 403 and the reference's message while the configurations have not been listed."""
    (plugin,) = DynamicAdmission(sources(Configurations(ready=False)), (MUTATING_WEBHOOK,)).plugins

    with pytest.raises(errors.StatusError) as caught:
        await plugin.admit(widget())

    assert (caught.value.code, caught.value.message.partition(": ")[2]) == (403, "not yet ready to handle request")


def test_imports_nothing_for_no_configurations() -> None:
    """Import no plug-in of webhooks or policies with the module of the lazy plug-ins."""
    rooms = ("apiext.api.admission.webhooks", "apiext.api.admission.policy", "apiext.schema")
    code = f"import sys, apiext.api.admission.dynamic; print([name for name in sys.modules if name.startswith({rooms})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@dataclass
class CountingCaller:
    """Answers each call with its number."""

    calls: int = 0

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Answer the calls."""
        answers = [ReviewAnswer(f"{self.calls + number}") for number, _ in enumerate(calls)]
        self.calls += len(calls)
        return answers


def call(key: str) -> ReviewCall:
    """Return a call of a webhook."""
    return ReviewCall(HOOK, key, "uid", b"", 0.0)


async def test_a_restarted_write_calls_webhooks_once() -> None:
    """Answer the calls of a second attempt from the first one, in order, and make those that are new. Other writes make all calls."""
    caller = CountingCaller()
    reviews = RememberedReviews(caller)
    work = InlineWork()
    with work:
        first = [*await reviews.review([call("a"), call("a")]), *await reviews.review([call("b")])]
    with restarted(work):
        again = [*await reviews.review([call("a"), call("new"), call("a")]), *await reviews.review([call("b"), call("b")])]
    others = await reviews.review([call("a")])

    assert [answer.uid for answer in first] == ["0", "1", "2"]
    assert [answer.uid for answer in again] == ["0", "3", "1", "2", "4"]
    assert [answer.uid for answer in others] == ["5"]


def test_imports_what_has_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import the plug-ins that the first writes need, and no others."""
    imported: list[str] = []

    def note(name: str) -> Mock:
        imported.append(name)
        return Mock()

    monkeypatch.setattr("apiext.api.admission.dynamic.importlib.import_module", note)
    configurations = Configurations({AdmissionPhase.VALIDATING})
    dynamic = DynamicAdmission(sources(configurations), DYNAMIC_PLUGINS)

    dynamic.import_used()

    assert imported == ["apiext.api.admission.webhooks.validating"]


async def test_writes_wait_for_an_import_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a plug-in when its module is complete, although it is known before: a second write comes while a thread runs it."""
    name = "apiext.api.admission.webhooks.validating"
    begun, may_end = threading.Event(), threading.Event()
    reviewed: list[Attributes] = []

    class Slow(SourceFileLoader):
        def exec_module(self, module: ModuleType) -> None:
            begun.set()
            may_end.wait(30)
            super().exec_module(module)
            monkeypatch.setattr(module.__dict__["ValidatingWebhooks"], "validate", note)

    async def note(_: object, attributes: Attributes) -> None:
        reviewed.append(attributes)

    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    slow = spec_from_file_location(name, spec.origin, loader=Slow(name, spec.origin))
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Mock(find_spec=lambda wanted, *_: slow if wanted == name else None), *sys.meta_path])
    (plugin,) = DynamicAdmission(sources(Configurations({AdmissionPhase.VALIDATING})), (VALIDATING_WEBHOOK,)).plugins
    first = asyncio.create_task(plugin.validate(widget()))
    await until(begun.is_set)
    second = asyncio.create_task(plugin.validate(widget()))
    await settle()
    assert not second.done()
    assert name in sys.modules
    may_end.set()
    await asyncio.gather(first, second)

    assert len(reviewed) == 2
