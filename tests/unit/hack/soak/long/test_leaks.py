"""Tests that the last process of a server is compared with itself after five minutes."""

from hack.lib.soak.long.leaks import Sample, judge


def _process(pid: int, begun: int, minutes: int, **growth: float) -> list[Sample]:
    """Return samples every ten seconds of a process whose numbers grow each minute."""
    return [
        Sample(
            begun + second,
            pid,
            100 + growth.get("mib", 0) * second / 60,
            int(50 + growth.get("descriptors", 0) * second / 60),
            int(80 + growth.get("tasks", 0) * second / 60),
            int(1 + growth.get("children", 0) * second / 60),
        )
        for second in range(0, minutes * 60, 10)
    ]


def test_steady() -> None:
    """Find no leak in a process that stays as it is."""
    line, leaked = judge(_process(1, 0, 30))

    assert "MiB 100 to 100" in line
    assert leaked == []


def test_leaks() -> None:
    """Report what grows."""
    for name in ("mib", "descriptors", "tasks", "children"):
        _, leaked = judge(_process(1, 0, 30, **{name: 5}))

        assert len(leaked) == 1


def test_growth_of_the_first_minutes() -> None:
    """Not report what a process needs at first."""
    samples = _process(1, 0, 30)
    early = [Sample(one.time, 1, 20, 3, 3) if one.time < 250 else one for one in samples]

    assert judge(early)[1] == []


def test_last_process_only() -> None:
    """Compare nothing with the process before a restart."""
    assert judge([*_process(1, 0, 20), *_process(2, 1200, 20, mib=5)])[1] != []
    assert judge([*_process(1, 0, 20, mib=50), *_process(2, 1200, 20)])[1] == []


def test_short_life() -> None:
    """Say that a process lived too short to be judged."""
    for samples in (_process(1, 0, 3), _process(1, 0, 6), [*_process(1, 0, 20), *_process(2, 1200, 3)]):
        line, leaked = judge(samples)

        assert "not judged" in line
        assert leaked == []


def test_no_figures() -> None:
    """Report a server that never showed its metrics: nothing is known about it."""
    assert judge([])[1] == ["the server showed no metrics"]
