"""Tests of the text of metrics."""

from apiext.server.routes.metrics_text import buckets


def test_buckets() -> None:
    """Cumulate the observations, and write the bounds as Go does."""
    found = buckets((5e-06, 0.005, 1.0, 83.88608, 2592000.0), (1, 0, 2, 0, 1, 3))

    assert found == [("5e-06", 1.0), ("0.005", 1.0), ("1", 3.0), ("83.88608", 3.0), ("2.592e+06", 4.0), ("+Inf", 7.0)]
