"""Webhooks of writes that run in worker processes: called once, with whole objects, and without holding the processes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from apiext.api.admission.dynamic import MUTATING_WEBHOOK, VALIDATING_WEBHOOK, DynamicAdmission
from apiext.api.admission.remembered_reviews import RememberedReviews
from apiext.api.admission.sources import AdmissionPhase, HookEntry, RequestPlace, ReviewAnswer, ReviewCall
from apiext.base.meta.limits import MAX_INLINE_BYTES
from tests.support.builders.crds import crd, version, widget, widgets_path
from tests.support.event_loop import until
from tests.support.servers.in_process import InProcess
from tests.unit.api.admission.webhooks.hooks import Hooks, denying, hook, setting

BASE = widgets_path()
TEXT: dict[str, Any] = {"type": "string"}
SPEC = {"type": "object", "properties": {"text": TEXT, "seen": TEXT, "checked": {"type": "string", "pattern": "^a+$"}}}
MERGE = {"Content_Type": "application/merge-patch+json"}
HEAVY = "y" * 2 * MAX_INLINE_BYTES


class PhasedHooks(Hooks):
    """A mutating and a validating webhook of widgets. `held` delays the answers until it is set."""

    held: asyncio.Event | None = None

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        """Return the webhook of a phase."""
        found = await super().webhooks(phase, place)
        return [entry for entry in found if entry.hook["name"].startswith(phase[0]) and place.resource == "widgets"]

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Answer, perhaps later."""
        answers = await super().review(calls)
        if self.held is not None:
            await self.held.wait()
        return answers


@pytest.fixture
def hooks() -> PhasedHooks:
    """Return the webhooks of the server."""
    found = PhasedHooks([hook("m.example.com"), hook("v.example.com")])
    found.answers["m.example.com"] = setting("/spec/seen", "yes")
    return found


@pytest.fixture
async def guarded(hooks: PhasedHooks) -> AsyncIterator[InProcess]:
    """Yield a server with these webhooks that serves widgets and gadgets."""
    sources = replace(hooks.sources, reviews=RememberedReviews(hooks))
    async with InProcess(dynamic=DynamicAdmission(sources, (MUTATING_WEBHOOK, VALIDATING_WEBHOOK))) as server:
        for plural, kind in (("widgets", "Widget"), ("gadgets", "Gadget")):
            schema = {"type": "object", "properties": {"spec": SPEC}}
            await server.define(crd(plural, version("v1", storage=True, schema=schema), kind=kind))
        yield server


@pytest.mark.parametrize("spec", [{"text": "small"}, {"text": HEAVY}, {"checked": "aaa"}], ids=["small", "heavy", "restarted"])
async def test_webhooks_are_called_once(
    guarded: InProcess, hooks: PhasedHooks, monkeypatch: pytest.MonkeyPatch, spec: dict[str, Any]
) -> None:
    """Call each webhook once for a write in the server, in a worker process, and first in the one and then in the other."""
    monkeypatch.setattr("apiext.base.scheduling.inline_work.MAX_INLINE_SECONDS", 0)
    created = await guarded.ask("POST", BASE, widget(**spec))

    assert (created.status, created.json["spec"]) == (201, spec | {"seen": "yes"})
    assert hooks.asked == ["m.example.com", "v.example.com"]
    assert [request["object"]["spec"] for _, request in hooks.calls] == [spec, spec | {"seen": "yes"}]
    # what the validating webhook has seen is what is stored
    assert hooks.calls[1][1]["object"]["metadata"]["uid"] == created.json["metadata"]["uid"]
    assert bool(guarded.workers.supply.template) is ("text" not in spec or spec["text"] == HEAVY)


async def test_denials_of_heavy_writes(guarded: InProcess, hooks: PhasedHooks) -> None:
    """Refuse heavy writes and deletions with the message of the webhook."""
    await guarded.ask("POST", BASE, widget(text=HEAVY))
    hooks.answers.clear()
    hooks.answers["v.example.com"] = lambda request: denying(request, message=f"no {request['operation']}", code=409)
    answers = [await guarded.ask("PATCH", f"{BASE}/a", {"spec": {"checked": "a"}}, **MERGE), await guarded.ask("DELETE", f"{BASE}/a")]

    text = 'admission webhook "v.example.com" denied the request: no '
    assert [(answer.status, answer.message) for answer in answers] == [(409, text + "UPDATE"), (409, text + "DELETE")]
    assert hooks.calls[-1][1]["oldObject"]["spec"]["text"] == HEAVY


async def test_slow_webhooks_hold_no_worker(guarded: InProcess, hooks: PhasedHooks) -> None:
    """Run other heavy writes of a user while the webhooks of earlier ones do not answer."""
    hooks.held = asyncio.Event()
    waiting = [asyncio.ensure_future(guarded.ask("POST", BASE, widget(f"w{number}", text=HEAVY))) for number in range(2)]
    await until(lambda: len(hooks.calls) == len(waiting))
    gadgets = BASE.replace("widgets", "gadgets")
    other = await guarded.ask("POST", gadgets, widget(text=HEAVY) | {"kind": "Gadget"})

    assert other.status == 201
    hooks.held.set()
    assert [answer.status for answer in await asyncio.gather(*waiting)] == [201] * len(waiting)
