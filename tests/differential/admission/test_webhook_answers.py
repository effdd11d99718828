"""What webhooks answer has the reference's effect."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import pytest

from hack.lib.differential.pair import Step
from tests.differential.cases.admission_answers import BODIES, DENIALS, PATCHES, REVIEWS, WARNINGS
from tests.differential.cases.admission_objects import RULE, THINGS, create, thing
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import GuardedPair
from tests.differential.helpers.write_steps import MERGE, applied, scale
from tests.support.admission_webhook import ALLOW, AdmissionAnswer, AdmissionCall
from tests.support.builders import admission
from tests.support.scripted_webhook import BREAK, Json, Reply

pytestmark = pytest.mark.slow
ONE: Final = f"{THINGS}/a"
CREATE: Final = create(thing(replicas=1, text="t"), "?dryRun=All")
UPDATES: Final = (
    Step("PATCH", f"{ONE}?dryRun=All", {"metadata": {"annotations": {"x": "y"}}}, MERGE),
    applied(ONE, thing(text="u"), "fieldManager=ann&force=true&dryRun=All"),
)
SUBRESOURCES: Final = (
    Step("PATCH", f"{ONE}/status?dryRun=All", {"status": {"phase": "x"}}, MERGE),
    Step("PUT", f"{ONE}/scale?dryRun=All", scale(metadata={"namespace": "default"}, spec={"replicas": 5})),
    Step("DELETE", f"{ONE}?dryRun=All"),
)
OF_SUBRESOURCES: Final = (
    *("empty", "add", "replace", "remove", "remove missing", "failing test", "unknown field", "out of range", "wrong type"),
    *("labels", "name", "uid", "resourceVersion", "finalizers", "remove managedFields", "manager", "status", "kind", "nothing changes"),
)
HOOKS: Final = {"mutating": admission.mutating, "validating": admission.validating}


def _each(guarded: GuardedPair, hook: str, answers: Mapping[str, AdmissionAnswer], *steps: Step) -> list[str]:
    found: list[str] = []
    for name, answer in answers.items():
        guarded.webhook.answers[hook] = answer
        found += [f"{name}: {line}" for line in guarded.compare(steps)]
    guarded.webhook.answers.clear()
    return found


@pytest.mark.parametrize("phase", HOOKS)
@pytest.mark.parametrize("review", ["v1", "v1beta1"])
def test_answers(guarded: GuardedPair, phase: str, review: str) -> None:
    """Accept, refuse and word reviews, denials, warnings and other bodies as the reference does."""
    hook = admission.hook("a.example.com", RULE, admissionReviewVersions=[review])
    with guarded.installed(HOOKS[phase]("one", hook)):
        assert_none(_each(guarded, "a.example.com", REVIEWS | DENIALS | WARNINGS | BODIES, CREATE))


@pytest.mark.parametrize("phase", HOOKS)
def test_ignored_failures(guarded: GuardedPair, phase: str) -> None:
    """Ignore what the reference ignores with failurePolicy Ignore."""
    hook = admission.hook("a.example.com", RULE, failurePolicy="Ignore")
    answers = REVIEWS | DENIALS | BODIES | {name: PATCHES[name] for name in ("broken", "failing test", "object", "out of range")}
    with guarded.installed(HOOKS[phase]("one", hook)):
        assert_none(_each(guarded, "a.example.com", answers, CREATE))


def test_ended_connections(guarded: GuardedPair) -> None:
    """Fail as the reference does if a webhook ends a kept connection without an answer: the review is not sent again."""
    asked: Counter[str] = Counter()

    def answer(call: AdmissionCall) -> Reply | Json:
        asked[call.side] += 1
        return BREAK if asked[call.side] == 2 else ALLOW(call)

    with guarded.installed(admission.validating("one", admission.hook("a.example.com", RULE))):
        guarded.webhook.answers["a.example.com"] = answer
        found = guarded.compare([CREATE, CREATE, CREATE])

    assert_none(found)
    assert sorted(asked.values()) == [3, 3]


def test_patches(guarded: GuardedPair) -> None:
    """Store what the reference stores after a webhook's patch, with the same field managers."""
    guarded.pair.differences(create(thing(replicas=1, text="t")))
    try:
        first, last = (admission.hook(f"{name}.example.com", RULE) for name in "ab")
        with guarded.installed(admission.mutating("one", first), admission.validating("two", last)):
            found = _each(guarded, "a.example.com", PATCHES, CREATE, *UPDATES)
            found += _each(guarded, "a.example.com", {name: PATCHES[name] for name in OF_SUBRESOURCES}, *SUBRESOURCES)
        assert_none(found)
    finally:
        guarded.pair.differences(Step("DELETE", ONE))
