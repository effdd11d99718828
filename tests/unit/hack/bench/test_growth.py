"""The table of a growing collection."""

from hack.lib.bench.growth import Growth, table


def test_shows_the_figures_of_all_targets_by_size() -> None:
    """Write a line for each figure and size, with a column for each target."""
    theirs = Growth([1000, 10_000], {"get, p50 ms": [1.0, 1.5], "memory, MiB": [250.0, 800.0]})
    ours = Growth([1000, 10_000], {"get, p50 ms": [0.25, 0.25], "memory, MiB": [70.0, 160.0]})

    assert table({"kube-apiserver": theirs, "apiext": ours}).splitlines() == [
        "| figure | objects | kube-apiserver | apiext |",
        "| --- | --- | --- | --- |",
        "| get, p50 ms | 1,000 | 1.00 | 0.25 |",
        "| get, p50 ms | 10,000 | 1.50 | 0.25 |",
        "| memory, MiB | 1,000 | 250.00 | 70.00 |",
        "| memory, MiB | 10,000 | 800.00 | 160.00 |",
    ]
