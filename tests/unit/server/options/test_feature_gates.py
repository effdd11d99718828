"""Values of --feature-gates."""

import pytest

from apiext.server.options.feature_gates import FeatureGates, parse_feature_gates
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
    gates = parse_feature_gates(["AllAlpha=true", "StorageVersionAPI=false", "AllBeta=false"])

    assert gates.enabled("CBORServingAndStorage")
    assert not gates.enabled("StorageVersionAPI")
    assert gates.enabled("ShardedListAndWatch")
    assert not FeatureGates().enabled("ShardedListAndWatch")
    assert not gates.enabled("ConstrainedImpersonation")
    assert not gates.enabled("EtcdRangeStream")
    assert FeatureGates().enabled("EtcdRangeStream")
    assert (FeatureGates().enabled("WatchListCompression"), gates.enabled("WatchListCompression")) == (True, False)
    assert gates.enabled("StorageVersionMigrator")


@pytest.mark.parametrize(
    "pair, problem",
    [
        ("WatchList", "missing bool value for WatchList"),
        ("WatchList=x", 'invalid value of WatchList=x, err: strconv.ParseBool: parsing "x": invalid syntax'),
    ],
)
def test_rejects_values(pair: str, problem: str) -> None:
    """Reject what is no boolean in the words of kube-apiserver."""
    with pytest.raises(ValueError, match=f"^{problem}$"):
        parse_feature_gates([pair])


@pytest.mark.parametrize("name", ["CBORServingAndStorag", "StorageVersion", "storageVersionMigrator"])
def test_rejects_mistyped_gates(name: str) -> None:
    """Reject a name that resembles a gate of this server."""
    with pytest.raises(ValueError, match=rf"^unrecognized feature gate: {name} \(is \w+ meant\?\)$"):
        parse_feature_gates([f"{name}=true"])


def test_logs_gates_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    """Log gates that are not implemented."""
    parse_feature_gates(["WatchList=false", "Nope=true", "CBORServingAndStorage=true", "AllAlpha=false"]).log_warnings()

    assert logged(caplog) == [
        {"event": "feature gates are not implemented, and their values are ignored", "gates": "Nope,WatchList"},
    ]


def test_accepts_removed_gates(caplog: pytest.LogCaptureFixture) -> None:
    """Accept gates that kube-apiserver no longer has with a warning, also those that resemble one of this server."""
    removed = ["StorageVersionHash", "UserImpersonation", "ValidatingAdmissionPolicy", "WatchListClient"]
    parse_feature_gates([f"{name}=true" for name in removed]).log_warnings()

    assert [record["gates"] for record in logged(caplog)] == [",".join(removed)]


def test_logs_nothing_without_gates(caplog: pytest.LogCaptureFixture) -> None:
    """Log nothing if no gate is set."""
    parse_feature_gates([]).log_warnings()

    assert logged(caplog) == []
