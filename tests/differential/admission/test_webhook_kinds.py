"""Webhooks for all kinds, those that cannot be called, and those that are too slow."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Answer, Side, Step, differing
from tests.differential.cases.admission_answers import PATCHES
from tests.differential.cases.admission_objects import RULE, create, thing
from tests.differential.cases.admission_other_kinds import CREATES, EVERYTHING, EXEMPT, KINDS, TOKEN_HOOKS, TOKENS, UNREACHABLE, unreachable
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import GuardedPair, ask
from tests.support.builders import admission
from tests.support.scripted_webhook import HANG

pytestmark = pytest.mark.slow
CREATE: Final = create(thing(), "?dryRun=All")
_EXPIRED: Final = Answer(http.client.GATEWAY_TIMEOUT, {}, None)
"""One answer for the errors of a request whose time has ended."""


def test_other_kinds(guarded: GuardedPair) -> None:
    """Ask webhooks for everything about built-in kinds and definitions as the reference does."""
    with guarded.installed(*EVERYTHING):
        assert_none([line for steps in KINDS.values() for line in guarded.compare(steps)])


def test_changed_kind(guarded: GuardedPair) -> None:
    """Refuse objects whose kind a webhook changes to one that there is not."""
    with guarded.installed(EVERYTHING[0]):
        guarded.webhook.answers["m-every.example.com"] = PATCHES["kind"]
        assert_none(guarded.compare(CREATES))


def test_tokens(guarded: GuardedPair) -> None:
    """Ask webhooks about tokens with the name of their ServiceAccount."""
    with guarded.installed(*TOKEN_HOOKS):
        assert_none(guarded.compare(TOKENS))


def test_exempt_kinds(guarded: GuardedPair) -> None:
    """Ask no webhook about reviews and configurations."""
    with guarded.installed(*EVERYTHING):
        found = guarded.compare(EXEMPT)
        assert guarded.webhook.calls == []
    assert_none(found)


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_unreachable_webhooks(guarded: GuardedPair, policy: str) -> None:
    """Word why a webhook cannot be called as the reference does."""
    found: list[str] = []
    for name, config in UNREACHABLE.items():
        client = json.loads(json.dumps(config).replace("{port}", str(guarded.webhook.port)))
        with guarded.installed(*unreachable(client, policy)):
            found += [f"{name}: {line}" for line in guarded.differences(CREATE)]
    assert_none(found)


def test_slow_webhooks(guarded: GuardedPair) -> None:
    """End calls at the webhook's timeout or at the request's, whichever comes first, with the reference's words."""
    limits: dict[str, dict[str, Any]] = {
        "fails": {"timeoutSeconds": 1},
        "ignored": {"timeoutSeconds": 1, "failurePolicy": "Ignore"},
        "long": {"timeoutSeconds": 20},
        "long-ignored": {"timeoutSeconds": 20, "failurePolicy": "Ignore"},
    }
    hooks = {
        f"{name}.example.com": admission.hook(f"{name}.example.com", RULE, objectSelector={"matchLabels": {"slow": name}}, **more)
        for name, more in limits.items()
    }
    mutators = [hook | {"name": f"m-{name}"} for name, hook in hooks.items()]
    for configuration in (admission.mutating("slow", *mutators), admission.validating("slow", *hooks.values())):
        with guarded.installed(configuration):
            guarded.webhook.answers = {hook["name"]: lambda _call: HANG for hook in configuration["webhooks"]}
            steps = [
                create(thing(metadata={"labels": {"slow": hook["objectSelector"]["matchLabels"]["slow"]}}), "?dryRun=All&timeout=2s")
                for hook in configuration["webhooks"]
            ]
            assert_none(_at_once(guarded, steps))


def _without_race(answer: Answer) -> Answer:
    """Return `_EXPIRED` for the errors of a request that ends at the same time as its call of a webhook."""
    message = str(answer.body.get("message"))
    expired = "timeout=2s" in message or "request did not complete within" in message
    return _EXPIRED if expired and answer.code >= http.client.INTERNAL_SERVER_ERROR else answer


def _at_once(guarded: GuardedPair, steps: list[Step]) -> list[str]:
    """Return the differences of responses to requests that both servers get at the same time."""

    def answer(given: tuple[Step, tuple[str, Side]]) -> Answer:
        step, (name, side) = given
        alone = Side(side.url, side.context)
        try:
            return _without_race(ask(name, alone, step))
        except http.client.RemoteDisconnected:
            # where its answer has begun, the reference closes the connection instead
            if side is not guarded.pair.reference:
                raise
            return _EXPIRED
        finally:
            alone.close()

    every = [(step, side) for step in steps for side in guarded.sides]
    with ThreadPoolExecutor(len(every)) as threads:
        answers = list(threads.map(answer, every))
    found: list[str] = []
    for step, theirs, ours in zip(steps, answers[::2], answers[1::2], strict=True):
        found += [f"{step}\n    reference: {one}\n    apiext:    {other}" for one, other in differing(theirs, ours)]
    return found
