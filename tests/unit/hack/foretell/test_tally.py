"""Counts of predictions."""

import pytest

from hack.lib.foretell.tally import Tally


@pytest.mark.parametrize(
    "predicted, answer, false_safe",
    [
        (True, False, 1),
        (False, True, 0),
        (200, 422, 1),
        (422, 201, 0),
        ({"a": 1}, [422, ["invalid"]], 1),
        ([422, ["invalid"]], {"a": 1}, 0),
        ({"a": 1}, {"a": 2}, 0),
        ([], ["lost"], 1),
        (["lost"], [], 0),
        (["lost"], ["other"], 0),
    ],
)
def test_wrong_predictions_of_no_harm_are_false_safe(predicted: object, answer: object, false_safe: int) -> None:
    """Tell a missed harm from a false alarm."""
    tally = Tally()
    tally.compare("read", "a", predicted, answer)

    assert len(tally.wrong) == 1
    assert len(tally.false_safe) == false_safe


def test_the_report_names_shares_and_kinds() -> None:
    """Print each difference, a line for each kind, what was foretold of objects, and the share."""
    one, other, total = Tally(), Tally(), Tally()
    one.compare("read", "pair 1", 200, 200)
    other.compare("read", "pair 2", 200, 500)
    one.findings["unchanged"], other.findings["unchanged"], other.findings["stuck"] = 2, 1, 3
    total.add([one, other])

    lines = total.report().splitlines()
    assert lines[0] == "FALSE SAFE: read: pair 2:"
    assert lines[-3].split() == ["read", "2", "1"]
    assert lines[-2] == "objects: 3 stuck, 3 unchanged"
    assert lines[-1] == "2 predictions, 1 wrong: 50.00% equal; false safe: 1"
