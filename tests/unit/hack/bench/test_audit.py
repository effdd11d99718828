"""The table of the cost of audit."""

from hack.lib.bench.audit import Side, table


def _side(rate: float, cost: float) -> Side:
    # the first and the last round are slow
    return Side({}, list, {"get": [rate / 2, rate, rate * 2]}, {"get": [cost * 2, cost, cost / 2]})


def test_shows_what_is_kept() -> None:
    """Compare the medians with audit to those without it: of rates, and of requests in the same processor time."""
    pairs = {"kube-apiserver": (_side(1000, 0.5), _side(900, 0.625)), "apiext": (_side(4000, 0.1), _side(3800, 0.105))}

    assert table(pairs, ["get"]).splitlines() == [
        "|  | kube-apiserver | with audit | kept | apiext | with audit | kept |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| get, per second | 1,000 | 900 | 90.0% | 4,000 | 3,800 | 95.0% |",
        "| get, ms of processor time | 0.500 | 0.625 | 80.0% | 0.100 | 0.105 | 95.2% |",
    ]
