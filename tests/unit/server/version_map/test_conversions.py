"""Conversions on the map."""

from typing import Any

from apiext.resources.conversion.circuits import ConversionCircuits
from apiext.resources.conversion.known import KnownConversions, Origin
from apiext.resources.conversion.metrics import CALL_FAILURE, ConversionOutcome, ConversionStats
from apiext.server.version_map.conversions import RulesStates, conversion_facts, conversion_target, routes_by_definition
from apiext.server.version_map.entries import RulesState
from tests.support.builders.crds import crd, definition, version

NAME = "widgets.example.com"


def test_adds_up_calls_by_versions() -> None:
    """Add failed to successful calls, with their mean and the bound of most of them."""
    stats = ConversionStats()
    for seconds, failure in ((0.003, ""), (0.003, ""), (0.009, CALL_FAILURE)):
        stats.observe(ConversionOutcome(NAME, {"v1"}, "v2", failure, seconds))
    stats.observe(ConversionOutcome(NAME, {"v2"}, "v1", "", 100.0))
    stats.rules.conversions["gadgets.example.com", "v1", "v2", "true"].observe(0.00002)

    found = routes_by_definition(stats)
    assert found[NAME] == [
        {"from": "v1", "to": "v2", "by": "webhook", "calls": 3, "failed": 1, "meanMilliseconds": 5.0, "mostMilliseconds": 16.0},
        {"from": "v2", "to": "v1", "by": "webhook", "calls": 1, "failed": 0, "meanMilliseconds": 100000.0, "mostMilliseconds": None},
    ]
    (rules,) = found["gadgets.example.com"]
    assert rules == {"from": "v1", "to": "v2", "by": "rules", "calls": 1, "failed": 0, "meanMilliseconds": 0.02, "mostMilliseconds": 0.04}


def test_names_the_webhook() -> None:
    """Name the Service or the URL of the webhook."""
    service = {"namespace": "a", "name": "b", "path": "/convert", "port": 443}
    config = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}}
    by_url = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x/"}, "conversionReviewVersions": ["v1"]}}

    assert conversion_target(definition(crd(conversion=config))) == "service a/b/convert"
    assert conversion_target(definition(crd(conversion=by_url))) == "https://x/"
    assert conversion_target(definition(crd())) == ""


def _conversion(**members: Any) -> dict[str, Any]:
    return {
        "apiVersion": "conversions.apiext.dev/v1alpha1",
        "kind": "Conversion",
        "metadata": {"name": NAME},
        "spec": {"hub": "v2", "spokes": [{"version": "v1", "rules": []}]},
    } | members


def test_rules_replace_the_strategy() -> None:
    """Show that a definition has rules, with what is wrong with them: by themselves, else by their status."""
    known = KnownConversions()
    states, widgets = RulesStates(known), definition(crd("widgets", version("v1"), version("v2", storage=True)))
    assert states.of(widgets) is None

    known.put(Origin.OBJECT, _conversion())
    assert conversion_facts(widgets, (), ConversionCircuits(), states.of(widgets)).rules == RulesState()
    known.put(Origin.OBJECT, _conversion(status={"problems": [{"path": "spec.hub", "message": "unknown field"}]}))
    assert states.of(widgets) == RulesState(("spec.hub: unknown field",))
    known.put(Origin.FILE, _conversion(spec={"hub": 1}))
    invalid = states.of(widgets)
    assert invalid is not None
    assert "spec.hub" in invalid.problems[0]


def test_unknown_rules_are_a_problem() -> None:
    """Say that the Conversions are not known yet, for definitions with several versions."""
    known = KnownConversions()
    known.missing = "the host has not been asked"
    states = RulesStates(known)

    assert states.of(definition(crd("widgets", version("v1"), version("v2", storage=True)))) == RulesState((known.missing,))
    assert states.of(definition(crd())) is None
