"""Values of --feature-gates."""

import pytest

from apiext.server.options.feature_gates import FeatureGates, FeatureGatesError, parse_feature_gates
from tests.support.captured_logs import logged


def test_reads_gates() -> None:
    """Use the default of a gate that is not named, and the last of several values."""
    gates = parse_feature_gates(["CBORServingAndStorage=false", " CBORServingAndStorage = T", "CRDValidationRatcheting=true"])

    assert gates.enabled("CBORServingAndStorage")
    assert gates.enabled("ConstrainedImpersonation")
    assert not FeatureGates().enabled("CBORServingAndStorage")
    assert parse_feature_gates(["kube:CBORServingAndStorage=1"]).enabled("CBORServingAndStorage")


def test_sets_all_gates_of_a_stage() -> None:
    """Set all alpha or beta gates that have no value of their own."""
    gates = parse_feature_gates(["AllAlpha=true", "GenericWorkload=true", "APIServingWithRoutine=false"])

    assert gates.enabled("CBORServingAndStorage")
    assert not gates.enabled("APIServingWithRoutine")
    assert not parse_feature_gates(["AllBeta=false"]).enabled("ConstrainedImpersonation")


@pytest.mark.parametrize(
    "pairs, problems",
    [
        (["Nope=true", "WatchList=true"], ["unrecognized feature gate: Nope"]),
        (["WatchList"], ["missing bool value for WatchList"]),
        (["WatchList=x"], ['invalid value of WatchList=x, err: strconv.ParseBool: parsing "x": invalid syntax']),
        (
            ["CRDValidationRatcheting=false"],
            ["cannot set feature gate CRDValidationRatcheting to false, feature is locked to true"],
        ),
        (
            ["DeclarativeValidationBeta=true", "DeclarativeValidation=false"],
            ["cannot set feature gate DeclarativeValidation to false, feature is locked to true"],
        ),
        (
            ["WorkloadWithJob=true", "CompositePodGroup=false"],
            ["WorkloadWithJob is enabled, but depends on features that are disabled: [GenericWorkload]"],
        ),
        (["other:WatchList=true"], ["component not registered: other"]),
        (
            ["kube:WatchList=true", "AllAlpha=false"],
            ["set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"],
        ),
    ],
)
def test_rejects_gates(pairs: list[str], problems: list[str]) -> None:
    """Reject gates as kube-apiserver 1.37.1 does, in its words."""
    with pytest.raises(FeatureGatesError) as raised:
        parse_feature_gates(pairs)

    assert raised.value.problems == problems


def test_logs_gates_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    """Log gates that are not implemented and differ from the default, and gates that will be removed."""
    parse_feature_gates(
        [
            "WatchList=false",
            "OpenAPIEnums=true",
            "CBORServingAndStorage=true",
            "CRDValidationRatcheting=true",
            "CRDObservedGenerationTracking=false",
        ]
    ).log_warnings()

    assert logged(caplog) == [
        {"event": "feature gate will be removed in a future release", "gate": "CRDValidationRatcheting", "value": True, "stage": "GA"},
        {"event": "feature gates are not implemented, and their values are ignored", "gates": "WatchList"},
    ]


def test_logs_nothing_without_gates(caplog: pytest.LogCaptureFixture) -> None:
    """Log nothing if no gate is set."""
    parse_feature_gates([]).log_warnings()

    assert logged(caplog) == []
