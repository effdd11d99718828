"""Admission on the map."""

from typing import Any

from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.server.version_map.sources import guards_of
from tests.support.builders import admission
from tests.support.builders.crds import definition, widget_crd

PLURALS = admission.PLURALS


def _index(*objects: dict[str, Any]) -> ConfigurationIndex:
    index = ConfigurationIndex(ready_timeout=0)
    followers = index.followers
    for plural, follower in followers.items():
        follower.replaced([one for one in objects if PLURALS[one["kind"]] == plural])
    return index


async def test_finds_what_matches_the_objects() -> None:
    """Name webhooks and policies with a rule for the resource or its subresources, with their operations; leave others out."""
    rule = admission.rule
    found = await guards_of(
        _index(
            admission.validating("quota", admission.hook("q.example.com", rule("widgets", operations=["CREATE", "DELETE"]))),
            admission.mutating("defaults", admission.hook("d.example.com", rule("widgets/status"), failurePolicy="Ignore")),
            admission.mutating("other", admission.hook("o.example.com", rule("gadgets"))),
            admission.validating_policy("sizes", "true", rules=[rule("*", operations=["UPDATE"])]),
            admission.validating_binding("one", "sizes"),
            admission.validating_binding("two", "sizes"),
            admission.validating_policy("unbound", "true"),
        ),
        definition(widget_crd()),
    )

    assert found is not None
    shown = {plural: [(row["name"], row["operations"], row["failurePolicy"]) for row in rows] for plural, rows in found.items()}
    assert shown == {
        "validatingwebhookconfigurations": [("quota: q.example.com", ["CREATE", "DELETE"], "Fail")],
        "mutatingwebhookconfigurations": [("defaults: d.example.com", ["UPDATE status"], "Ignore")],
        "validatingadmissionpolicies": [("sizes", ["UPDATE"], "Fail")],
    }
    assert [row["target"] for row in found["validatingadmissionpolicies"]] == ["2 bindings"]


async def test_says_that_it_does_not_know() -> None:
    """Return None while the configurations have not been listed."""
    assert await guards_of(ConfigurationIndex(ready_timeout=0), definition(widget_crd())) is None
