"""Definitions, requests and groups of the differential harness."""

from typing import Any

from hack.lib.differential.comparison import Outcome, prepared
from hack.lib.differential.pair import Step
from hack.lib.differential.requests import ObjectRequests
from hack.lib.real_crds import without_rules
from tests.support.builders.crds import crd, version
from tests.support.builders.seeds import seeded

RULES = [{"rule": "self.a > 1"}]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "x-kubernetes-validations": RULES,
    "properties": {"spec": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}},
}
WIDGETS = crd("widgets", version("v1", storage=True, schema=SCHEMA), conversion={"strategy": "Webhook", "webhook": {}})


def _requests(seed: int) -> ObjectRequests:
    return ObjectRequests(WIDGETS, WIDGETS["spec"]["versions"][0], seeded(seed))


def test_prepares_definitions() -> None:
    """Remove conversion webhooks always, and rules on request."""
    kept, plain = prepared(WIDGETS)["spec"], prepared(without_rules(WIDGETS))["spec"]

    assert kept["conversion"] == plain["conversion"] == {"strategy": "None"}
    assert kept["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] == RULES
    assert "x-kubernetes-validations" not in plain["versions"][0]["schema"]["openAPIV3Schema"]


def test_sends_the_same_requests_for_a_seed() -> None:
    """Send apply patches only on request, and the same requests for the same seed."""
    one, other = ([str(step) for step in _requests(1).life(applies=True)] for _ in range(2))

    assert one == other
    assert any("apply-patch" in step for step in one)
    assert not any("apply-patch" in str(step) for step in _requests(1).life())


def test_tries_until_an_object_is_accepted() -> None:
    """Use the first object that a server accepts."""
    asked: list[Step] = []

    def accepts(step: Step) -> bool:
        asked.append(step)
        return len(asked) == 3

    assert _requests(1).accepted(accepts) == asked[-1].body
    assert len(asked) == 3


def test_groups_differences() -> None:
    """Group differences by verb and answers, without names and numbers."""
    texts = [f"POST /a{number} {{}}\n    reference: .code = {number}\n    apiext:    .code = 'x{number}'" for number in (1, 2)]
    outcome = Outcome(compared=4, different=[*texts, "GET /b\n    reference: 1\n    apiext:    2"])

    assert outcome.share == 0.25
    assert [(count, cause) for count, cause, _ in outcome.groups()] == [
        (2, "POST | reference: .code = _ | apiext:    .code = _"),
        (1, "GET | reference: _ | apiext:    _"),
    ]
