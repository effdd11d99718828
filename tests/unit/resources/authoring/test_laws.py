"""The laws of conversions, and the counterexamples of rules that break them."""

from typing import Any

import pytest

from apiext.resources.authoring.laws import BrokenLawError, Law, Laws
from apiext.resources.authoring.trials import PairTrial, pairs_of, trial_lines, try_pair
from apiext.resources.authoring.tried_rules import TriedRules
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from tests.support.builders.crds import definition
from tests.support.builders.related_versions import INTEGER, STRING, array, conversion, crd_of_specs, mapped, obj

_LIST = array(obj(name=STRING, value=STRING))


def _tried(*rules: Any, **specs: Any) -> TriedRules:
    document = conversion(*rules, others=[name for name in specs if name not in ("v1", "v2")])
    return TriedRules(parse_rules(document), definition(crd_of_specs(**specs)))


def _trials(rules: TriedRules, examples: int = 60) -> list[PairTrial]:
    trials = [*pairs_of(rules)]
    for trial in trials:
        try_pair(rules, trial, examples=examples, seed=1)
    return trials


class _Faulty(TriedRules):
    """Rules with a fault of conversions to v1."""

    def __init__(self, rules: TriedRules, fault: Any) -> None:
        super().__init__(rules.rules, rules.definition)
        self._fault = fault

    def convert(self, obj: dict[str, Any], version: str) -> dict[str, Any]:
        found = super().convert(obj, version)
        if version == "v1":
            self._fault(found["spec"])
        return found


@pytest.fixture
def sizes() -> TriedRules:
    """Return rules between versions with a renamed field."""
    return _tried(
        {"rename": {"path": "spec.size", "to": "capacity"}}, v1=obj(size=INTEGER, mode=STRING), v2=obj(capacity=INTEGER, mode=STRING)
    )


def test_fields_that_a_version_lacks_are_carried() -> None:
    """Lose nothing in both directions, whatever the rules lose."""
    rules = _tried(
        {"listToMap": {"path": "spec.env", "key": "name", "value": "value"}},
        {"split": {"path": "spec.image", "to": ["spec.repository", "spec.tag"], "separator": ":"}},
        v1=obj(env=_LIST, image=STRING, old=STRING),
        v2=obj(env=mapped(STRING), repository=STRING, tag=STRING, new=STRING),
    )

    there, back = _trials(rules)

    assert (there.broken, back.broken) == (None, None)
    assert (there.counts.objects, back.counts.objects) == (60, 60)
    assert there.counts.changes > 30
    assert 0 < there.counts.carrying < 60
    assert there.counts.most_carried > 10
    assert next(iter(trial_lines(there))).startswith("widgets.example.com: v1 -> v2 -> v1: nothing is lost (60 objects, ")


def test_declared_losses_are_no_losses() -> None:
    """Accept that a dropped field does not return."""
    rules = _tried({"drop": {"path": "spec.old", "reason": "unused"}}, v1=obj(old=STRING, size=INTEGER), v2=obj(size=INTEGER))

    assert [trial.broken for trial in _trials(rules)] == [None, None]


def test_three_versions_are_tried_by_way_of_the_stored_one() -> None:
    """Try each version with each other one, as a server converts: from and to the storage version."""
    specs = {"v1": obj(a=STRING, b=STRING), "v2": obj(a=STRING), "v3": obj(a=STRING, c=STRING)}

    trials = _trials(_tried(**specs), examples=20)

    assert [(trial.source, trial.target) for trial in trials] == [
        ("v1", "v2"), ("v1", "v3"), ("v2", "v1"), ("v2", "v3"), ("v3", "v1"), ("v3", "v2"),
    ]  # fmt: skip
    assert [trial.broken for trial in trials] == [None] * 6


def test_the_counterexample_of_a_lost_field_is_minimal(sizes: TriedRules) -> None:
    """Shrink the object that loses a field, and show the difference."""
    trial = PairTrial("widgets.example.com", "v1", "v2", Laws(sizes, "v1", "v2").counts)
    try_pair(_Faulty(sizes, lambda spec: spec.pop("size", None)), trial, examples=100, seed=1)

    assert trial.broken is not None
    assert trial.broken.law is Law.ROUND_TRIP
    assert trial.broken.object["spec"] == {"size": 0}
    lines = [*trial_lines(trial)]
    assert lines[:2] == [
        "widgets.example.com: v1 -> v2 -> v1: BROKEN: an object that returns to its version is as it was",
        "  on the way v1 -> v2 -> v1",
    ]
    assert "    -  size: 0" in lines


def test_a_change_that_does_not_arrive_is_found(sizes: TriedRules) -> None:
    """Find a conversion that keeps an old value."""

    def stale(spec: dict[str, Any]) -> None:
        if spec.get("size") == 8:
            spec["size"] = 7

    laws = Laws(_Faulty(sizes, stale), "v1", "v2")

    with pytest.raises(BrokenLawError) as raised:
        laws.check({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 7}})
    assert raised.value.broken.law is Law.CHANGE_ARRIVES
    assert raised.value.broken.change == "spec.capacity: 7 becomes 8"


def test_a_change_of_another_field_is_found(sizes: TriedRules) -> None:
    """Find a conversion that changes a field beside the changed one, in a way that is undone later."""

    def careless(spec: dict[str, Any]) -> None:
        if spec.get("size") == 8:
            spec["mode"] = spec.get("mode", "") + "!"

    class _Undone(_Faulty):
        def convert(self, obj: dict[str, Any], version: str) -> dict[str, Any]:
            found = super().convert(obj, version)
            if version == "v2" and "mode" in found["spec"]:
                found["spec"]["mode"] = found["spec"]["mode"].removesuffix("!")
            return found

    laws = Laws(_Undone(sizes, careless), "v1", "v2")

    with pytest.raises(BrokenLawError) as raised:
        laws.check({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 7, "mode": "a"}}, 1)
    assert raised.value.broken.law is Law.OTHERS_STAY
    assert raised.value.broken.actual["spec"] == {"size": 8, "mode": "a!"}


def test_failures_are_counterexamples(sizes: TriedRules) -> None:
    """Show the error of a conversion that fails."""

    def fail(_spec: dict[str, Any]) -> None:
        raise ConversionError("no")

    trial = PairTrial("widgets.example.com", "v2", "v1", Laws(sizes, "v2", "v1").counts)
    try_pair(_Faulty(sizes, fail), trial, examples=10, seed=1)

    assert trial.broken is not None
    assert (trial.broken.law, trial.broken.error) == (Law.CONVERTED, "no")
    assert "  error: no" in [*trial_lines(trial)]


def test_what_becomes_invalid_is_counted_with_an_example() -> None:
    """Count valid objects that violate the other version, by reason, with a small one, and no objects that were invalid before."""
    even = {"x-kubernetes-validations": [{"rule": "!has(self.few) || self.few % 2 == 0", "message": "not even"}]}
    limited = obj(size=INTEGER | {"maximum": 50}, few=INTEGER) | even
    rules = _tried(v1=obj(size=INTEGER, few=INTEGER, other=STRING), v2=limited, v3=obj(size=INTEGER, few=INTEGER) | even)

    there, *_ = trials = _trials(rules)

    assert there.broken is None
    assert there.invalid.keys() == {
        "spec.size: Invalid value: spec.size in body should be less than or equal to 50",
        "spec: Invalid value: not even",
    }
    assert all(0 < count < 60 for count in there.invalid.values())
    assert all(each["spec"].keys() in ({"size"}, {"few"}) for each in there.examples.values())
    lines = [*trial_lines(there)]
    assert lines[1].startswith("  warning: ")
    assert " objects are valid in v1 and invalid in v2: spec" in lines[1]
    assert lines[2].startswith('    for example {"spec":{')
    (third,) = [trial for trial in trials if (trial.source, trial.target) == ("v3", "v2")]
    assert [*third.invalid] == ["spec.size: Invalid value: spec.size in body should be less than or equal to 50"]
