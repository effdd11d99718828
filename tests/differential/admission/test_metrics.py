"""The metrics of admission: both servers get equal requests and return equal samples."""

import re
from typing import Final

import pytest

from hack.lib.differential.pair import Side, Step
from tests.differential.cases.admission_objects import RULE, create, thing
from tests.differential.helpers.guarded_pair import GuardedPair
from tests.support import admission_webhook
from tests.support.builders import admission

pytestmark = pytest.mark.slow
DOMAIN: Final = "counted.example.com"
_SAMPLE: Final = re.compile(r"^(apiserver_(?:\w+_)?admission_\w+)\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_LABEL_PAIR: Final = re.compile(r"\('(\w+)', '([^']*)'\)")
_EXCLUDED: Final = [{"name": "never", "expression": "false"}]
_BROKEN: Final = [{"name": "broken", "expression": "object.spec.missing == 1"}]
CONFIGURATIONS: Final = (
    admission.mutating(
        "counted-mutating",
        admission.hook(f"fine.{DOMAIN}", RULE),
        admission.hook(f"open.{DOMAIN}", RULE, failurePolicy="Ignore"),
        admission.hook(f"never.{DOMAIN}", RULE, matchConditions=_EXCLUDED),
    ),
    admission.validating(
        "counted-validating",
        admission.hook(f"denies.{DOMAIN}", RULE),
        admission.hook(f"broken.{DOMAIN}", RULE, matchConditions=_BROKEN, failurePolicy="Ignore"),
    ),
    admission.validating_policy(f"policy.{DOMAIN}", "object.spec.replicas < 5", rules=[RULE]),
    admission.validating_binding(f"policy.{DOMAIN}", f"policy.{DOMAIN}", "Deny", "Audit"),
)
STEPS: Final = (create(thing(replicas=1), "?dryRun=All"), create(thing(replicas=9), "?dryRun=All"))


def _samples(side: Side) -> dict[str, dict[str, str]]:
    """Return the values of samples by their labels, by name."""
    found: dict[str, dict[str, str]] = {}
    for name, labels, value in _SAMPLE.findall(side.raw(Step("GET", "/metrics"))[1].decode()):
        found.setdefault(name, {})[str(sorted(_LABEL.findall(labels)))] = str(float(value))
    return found


def _ours(samples: dict[str, dict[str, str]]) -> dict[tuple[str, str], str]:
    """Return the samples about the configurations by name and labels; of durations, no values."""
    timed = ("_bucket", "_sum")
    return {
        (name, labels): "" if name.endswith(timed) else value
        for name, values in samples.items()
        for labels, value in values.items()
        if DOMAIN in labels
    }


def _label_names(samples: dict[str, dict[str, str]], *, of: tuple[str, ...]) -> dict[str, set[tuple[str, ...]]]:
    """Return the names of the labels of samples whose names contain one of the texts."""
    return {
        name: {tuple(label for label, _ in _LABEL_PAIR.findall(labels)) for labels in values}
        for name, values in samples.items()
        if any(text in name for text in of)
    }


def test_counts_webhooks_and_policies(guarded: GuardedPair) -> None:
    """Count calls, rejections, ignored failures and match conditions of webhooks, and checks of policies, with the reference's labels."""
    with guarded.installed(*CONFIGURATIONS):
        guarded.webhook.answers[f"denies.{DOMAIN}"] = admission_webhook.denying("no", code=418)
        guarded.webhook.answers[f"open.{DOMAIN}"] = lambda _call: {}
        assert guarded.compare(STEPS) == []
        theirs, ours = (_samples(side) for _, side in guarded.sides)

    found, expected = (_ours(samples) for samples in (ours, theirs))
    assert sorted(found.items() - expected.items()) == sorted(expected.items() - found.items()) == []


def test_times_steps_and_plugins(guarded: GuardedPair) -> None:
    """Have the reference's metrics of steps and plug-ins, with its labels and buckets. The summary has no quantiles."""
    theirs, ours = (_samples(side) for _, side in guarded.sides)
    kinds = ("step_admission", "controller_admission")
    expected, found = (_label_names(samples, of=kinds) for samples in (theirs, ours))
    expected.pop("apiserver_admission_step_admission_duration_seconds_summary")

    assert found == expected
    plugins = "apiserver_admission_controller_admission_duration_seconds_count"
    assert all(any(labels == other for other in theirs[plugins]) for labels in ours[plugins] if "NamespaceLifecycle" in labels)
